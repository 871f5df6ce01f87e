"""The oracle: its judge validated on labelled questions. Outputs: results/oracle/{judge}/."""


rule validate_oracle:
    input:
        tasks=taskset_file("tasks"),
        blockers=taskset_file("blockers"),
        embeddings=embeddings_of(*CONFIG.evaluate.tasksets),
        human_labels=CONFIG.oracle.validation.human_labels or [],
    output:
        validation="results/oracle/{judge}/validation.parquet",
        additions="results/oracle/{judge}/additions.parquet",
    log:
        "results/logs/validate_oracle/{judge}.log",
    benchmark:
        "results/benchmarks/validate_oracle/{judge}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(2000),
        runtime=scaled(60),
    params:
        judge=judge_of,
        validation=CONFIG.oracle.validation.model_dump(mode="json"),
        seed=CONFIG.seed,
        code=digest("oracle"),
    message:
        "Validate judge {wildcards.judge} on labelled questions"
    script:
        "../scripts/validate_oracle.py"
