"""Tables and figures over all finished episodes. Outputs: results/tables/, results/figures/, results/manifest.json."""


rule make_tables:
    input:
        episodes=episode_files(),
        questions=episode_files(table=".questions"),
        tasks=taskset_file("tasks"),
        blockers=taskset_file("blockers"),
        checks=taskset_file("checks"),
        splits=taskset_file("splits"),
        selection=taskset_file("selection"),
        validation=f"results/oracle/{CONFIG.oracle.judge}/validation.parquet",
    output:
        expand("results/tables/{table}.{format}", table=TABLES, format=FORMATS),
    log:
        "results/logs/make_tables.log",
    benchmark:
        "results/benchmarks/make_tables.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(4000),
        runtime=scaled(30),
    params:
        tables=CONFIG.tables.model_dump(mode="json"),
        attempts=CONFIG.evaluate.attempts,
        split=CONFIG.evaluate.split,
        selected_only=CONFIG.selection.apply,
        recall_target=CONFIG.oracle.validation.recall_target,
        seed=CONFIG.seed,
        code=digest("report", "scoring"),
    message:
        "Make the tables"
    script:
        "../scripts/make_tables.py"


rule make_figures:
    input:
        main_results="results/tables/main_results.parquet",
        ask_quality="results/tables/ask_quality.parquet",
    output:
        judgment_gap="results/figures/judgment_gap.svg",
        precision_recall="results/figures/precision_recall.svg",
    log:
        "results/logs/make_figures.log",
    benchmark:
        "results/benchmarks/make_figures.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        code=digest("report"),
    message:
        "Draw the figures"
    script:
        "../scripts/make_figures.py"


rule write_manifest:
    input:
        episode_files(),
    output:
        manifest="results/manifest.json",
    log:
        "results/logs/write_manifest.log",
    benchmark:
        "results/benchmarks/write_manifest.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        config=CONFIG.model_dump(mode="json"),
        code=digest("provenance"),
    message:
        "Write what was run: configuration, versions, commit"
    script:
        "../scripts/write_manifest.py"


rule draw_rulegraph:
    output:
        rulegraph="results/figures/rulegraph.svg",
    log:
        "results/logs/draw_rulegraph.log",
    conda:
        "../envs/analysis.yaml"
    params:
        snakefile=f"{workflow.basedir}/Snakefile",
        configfiles=[str(path) for path in OVERLAYS],
        targets=TARGETS,
        code=digest("report"),
    message:
        "Draw the rules of the workflow"
    script:
        "../scripts/draw_rulegraph.py"
