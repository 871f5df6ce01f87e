"""The site's spelling of what rules ask for, on Slurm; included last, when every rule is known. No rules here.

A profile that names `gpu_spelling` in its `default-resources` asks for it. The DRMAA executor spells for itself.
"""

from helpseek.cluster.slurm import LOGICAL, SPELLED, slurm_resources


def at_site(one, name):
    """Resource `name` of rule `one` as the executor wants it, evaluated for each job."""
    asked = {key: one.resources[key] for key in LOGICAL if key in one.resources}

    def spelled(wildcards, input, attempt, threads):
        context = {
            "input": input,
            "attempt": attempt,
            "threads": threads,
            "rulename": one.name,
            "async_run": workflow.async_run,
        }
        values = {key: resource.evaluate(wildcards, **context).value for key, resource in asked.items()}
        return slurm_resources(values)[name]

    return spelled


for one in workflow.rules:
    if "gpu_spelling" in one.resources:
        one.resources.update({name: at_site(one, name) for name in SPELLED})
