"""A page of each kind, made by the program."""

import subprocess

HOSTILE = "</script><script>alert(1)<!-- & \"'.yaml"
JOB = """model: gpt3-1.3b
cluster: {nodes: [{type: dgx-a100-80g, count: 1}]}
training: {global_batch: 64, tokens: 300e9}
strategy: {tensor: 2, pipeline: 4}
"""


def mirfak(program, folder, *arguments):
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def make_pages(folder, source, program, measured_trace):
    """A page of each kind, in `folder`."""
    for name in ("models", "hw_profiles", "scenarios", "validate"):
        (folder / name).symlink_to(source / name)
    hostile = HOSTILE.replace("/", "\u2044")
    (folder / hostile).write_text(JOB)
    (folder / "sweep.yaml").write_text("scenario: job.yaml\naxes:\n  - grid: {strategy.micro_batch: [1, 2, 4], strategy.recompute: [none, full]}\n")
    (folder / "job.yaml").write_text(JOB)
    mirfak(program, folder, "simulate", hostile, "--sensitivity", "--report", "simulate.html")
    mirfak(program, folder, "simulate", "scenarios/capture/fsdp.capture", "--nodes", "hgx-h100:1", "--report", "capture.html")
    mirfak(program, folder, "search", "scenarios/search-llama2-70b-h100.yaml", "--top", "4", "--report", "search.html")
    mirfak(program, folder, "sweep", "sweep.yaml", "--out", "r.h5", "--report", "sweep.html")
    mirfak(program, folder, "search", "job.yaml", "--set", "strategy={}", "--planner", "alpa", "--report", "plan.html")
    mirfak(program, folder, "simulate", "scenarios/jobs/two-llama2-70b-h100.yaml", "--report", "jobs.html")
    mirfak(program, folder, "simulate", "job.yaml", "--unfolded", "--detail", "operators", "--trace", "predicted.h5")
    subprocess.run([measured_trace, folder / "job.yaml", folder / "measured.h5", "2"], check=True)
    mirfak(program, folder, "validate", "predicted.h5", "measured.h5", "--report", "traces.html")
    mirfak(program, folder, "train", "scenarios/train-llama3-405b-h100.yaml", "--samples", "200", "--report", "train.html")
    table = sorted((source / "validate" / "published").glob("*.csv"))[0]
    mirfak(program, folder, "validate", str(table), "--report", "validate.html")
    assert not list(folder.glob("*.svg")), "a page holds its plots"
    mirfak(program, folder, "frontier", "job.yaml", "--straggler", "1.2", "--report", "frontier.html")
    mirfak(program, folder, "compare", "scenarios/options/llama3-70b-clouds.yaml", "--report", "compare.html")
