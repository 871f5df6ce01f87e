"""BFCL: data, pairs, and every model's decisions to ask or act. Outputs: results/bfcl/, results/tables/bfcl_*."""


localrules:
    # Compute nodes rarely reach a package index.
    install_bfcl,


rule install_bfcl:
    output:
        package=directory("results/bfcl/package"),
    log:
        "results/logs/install_bfcl.log",
    conda:
        "../envs/analysis.yaml"
    params:
        wheel=str(CONFIG.bfcl.wheel or ""),
        code=digest("bfcl/data"),
    message:
        "Install BFCL's data in a folder of its own"
    script:
        "../scripts/install_bfcl.py"


rule derive_world_calls:
    input:
        package="results/bfcl/package",
    output:
        world_calls="results/bfcl/world_calls.parquet",
    log:
        "results/logs/derive_world_calls.log",
    benchmark:
        "results/benchmarks/derive_world_calls.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        world=CONFIG.bfcl.world.model_dump(mode="json"),
        code=digest("bfcl/calls", "bfcl/world_calls"),
    message:
        "Derive which BFCL functions change the world"
    script:
        "../scripts/derive_world_calls.py"


rule make_bfcl_pairs:
    input:
        package="results/bfcl/package",
        world_calls="results/bfcl/world_calls.parquet",
        exclusions=f"{workflow.basedir}/src/helpseek/bfcl/exclusions.yaml",
    output:
        pairs="results/bfcl/pairs.parquet",
        index="results/bfcl/pairs.json",
        audit="results/bfcl/audit.parquet",
        audit_quality="results/bfcl/audit_quality.parquet",
    log:
        "results/logs/make_bfcl_pairs.log",
    benchmark:
        "results/benchmarks/make_bfcl_pairs.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        world=CONFIG.bfcl.world.model_dump(mode="json"),
        code=digest(
            "bfcl/data", "bfcl/calls", "bfcl/pairs", "bfcl/exclusions", "bfcl/index", "bfcl/audit", "bfcl/world_calls"
        ),
    message:
        "Pair BFCL's should-ask items with their base twins, and audit them"
    script:
        "../scripts/make_bfcl_pairs.py"


rule write_bfcl_reference:
    input:
        package="results/bfcl/package",
        world_calls="results/bfcl/world_calls.parquet",
    output:
        outputs=expand(
            "results/bfcl/reference/{{behaviour}}/multi_turn/BFCL_v4_multi_turn_{category}_result.json",
            category=BFCL_CATEGORIES,
        ),
    log:
        "results/logs/write_bfcl_reference/{behaviour}.log",
    benchmark:
        "results/benchmarks/write_bfcl_reference/{behaviour}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        code=digest("bfcl/data", "bfcl/calls", "bfcl/pairs", "bfcl/reference"),
    message:
        "Write the outputs of the reference behaviour {wildcards.behaviour}"
    script:
        "../scripts/write_bfcl_reference.py"


rule score_bfcl:
    input:
        index="results/bfcl/pairs.json",
        outputs=bfcl_outputs_of,
        scores=bfcl_scores_of,
    output:
        decisions="results/bfcl/{model}/decisions.parquet",
        readings="results/bfcl/{model}/readings.parquet",
    log:
        "results/logs/score_bfcl/{model}.log",
    benchmark:
        "results/benchmarks/score_bfcl/{model}.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(1000),
        runtime=scaled(10),
    params:
        directory=bfcl_directory_of,
        scores=lambda wildcards: bfcl_score_folder(wildcards.model),
        pairs=CONFIG.bfcl.pairs,
        allow_partial=CONFIG.bfcl.allow_partial,
        rules=CONFIG.bfcl.rules.model_dump(mode="json"),
        code=digest(*BFCL_SCORE_CODE),
    message:
        "Score the decisions of {wildcards.model} to ask or act"
    script:
        "../scripts/score_bfcl.py"


rule make_bfcl_tables:
    input:
        decisions=expand("results/bfcl/{model}/decisions.parquet", model=BFCL_MODELS),
        readings=expand("results/bfcl/{model}/readings.parquet", model=BFCL_MODELS),
        pairs="results/bfcl/pairs.parquet",
        world_calls="results/bfcl/world_calls.parquet",
        audit_quality="results/bfcl/audit_quality.parquet",
    output:
        expand("results/tables/{table}.{format}", table=BFCL_TABLES, format=FORMATS),
        expand("results/figures/{figure}.svg", figure=BFCL_FIGURES),
    log:
        "results/logs/make_bfcl_tables.log",
    benchmark:
        "results/benchmarks/make_bfcl_tables.tsv"
    conda:
        "../envs/analysis.yaml"
    resources:
        mem_mb=scaled(2000),
        runtime=scaled(20),
    params:
        pairs=CONFIG.bfcl.pairs,
        groups=bfcl_groups(),
        bootstrap=CONFIG.bfcl.bootstrap,
        confidence=CONFIG.tables.confidence,
        seed=CONFIG.seed,
        code=digest("report", "scoring", "bfcl/scores", "bfcl/resampling", "bfcl/pairs"),
    message:
        "Make the tables and figures of the decisions to ask or act"
    script:
        "../scripts/make_bfcl_tables.py"
