"""Evaluate: one job runs one shard of a model's episodes on a task set under a condition. Outputs: results/episodes/."""


rule evaluate:
    input:
        tasks="results/tasks/{taskset}/tasks.parquet",
        blockers="results/tasks/{taskset}/blockers.parquet",
        splits="results/tasks/{taskset}/splits.parquet",
        checks="results/tasks/{taskset}/checks.parquet",
        databases=databases_of,
        embeddings=lambda wildcards: embeddings_of(wildcards.taskset),
        additions=f"results/oracle/{CONFIG.oracle.judge}/additions.parquet",
    output:
        episodes="results/episodes/{model}/{taskset}/{condition}/{shard}.parquet",
        steps="results/episodes/{model}/{taskset}/{condition}/{shard}.steps.parquet",
        questions="results/episodes/{model}/{taskset}/{condition}/{shard}.questions.parquet",
    log:
        "results/logs/evaluate/{model}/{taskset}/{condition}/{shard}.log",
    benchmark:
        "results/benchmarks/evaluate/{model}/{taskset}/{condition}/{shard}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(4000),
        runtime=scaled(240),
        # Neither changes a result, so neither is a param that would rerun a shard.
        concurrency=CONFIG.evaluate.concurrency,
        sql_workers=CONFIG.sql.workers,
    params:
        model=model_of,
        judge=section("judges", CONFIG.oracle.judge),
        oracle=CONFIG.oracle.model_dump(mode="json", exclude={"validation"}),
        evaluation=CONFIG.evaluate.model_dump(
            mode="json", include={"split", "attempts", "shards", "instruction_style", "limits"}
        ),
        sql=CONFIG.sql.model_dump(mode="json", exclude={"workers"}),
        seed=CONFIG.seed,
        code=digest(*EPISODE_CODE),
    message:
        "Evaluate {wildcards.model} on {wildcards.taskset}, {wildcards.condition}, shard {wildcards.shard}"
    script:
        "../scripts/evaluate.py"
