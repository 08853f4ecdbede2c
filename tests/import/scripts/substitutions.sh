#!/bin/bash
# Settings made from templates by sed, as launchers of DeepSpeed make them, and words that sed cuts out of others.
BATCH=512
STAGE=1
cat <<'EOT' > template.json
{
  "train_batch_size": CONFIG_BATCH, // CONFIG_BATCH
  "zero_optimization": { "stage": ZERO_STAGE },
  "path": "/a/b.c", "steps": [1, 22, 333]
}
EOT
sed "s/CONFIG_BATCH/${BATCH}/" template.json | sed "s/ZERO_STAGE/$STAGE/" | sed -e 's|//.*||' > config.json
python t.py "$(cat config.json)"
cp config.json other.json
sed -i -e 's/"stage": [0-9]*/"stage": 3/; s#/a/b\.c#/x&y#g' other.json
torchrun t.py "$(cat other.json)"
NAME=llama-3.1-8b-instruct
torchrun t.py $(echo $NAME | sed 's/-/_/g') $(echo $NAME | sed 's/-/_/') $(echo "$NAME" | sed -E 's/^([a-z]+)-([0-9.]+)-(.*)$/\2 \1 \3 \\ \&/')
torchrun t.py $(echo aaa | sed 's/a*/x/g') $(echo baac | sed 's/a*/x/g') $(echo abcabc | sed 's/^a/z/g; s/c$//') "$(echo a/b | sed 's/\//\n/')"
torchrun t.py $(echo 'a.b+c' | sed -r 's/[.+]/-/g') $(echo 'f(x)' | sed 's/(\(.\))/[\1]/') $(echo x1y22 | sed -E 's/[0-9]+/<&>/g')
export NAME
