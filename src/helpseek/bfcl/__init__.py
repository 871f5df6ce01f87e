"""Ask or act: the decision of a model, read off its stored BFCL multi-turn outputs ("Asking Earns Nothing")."""
