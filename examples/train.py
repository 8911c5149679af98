"""A training script that knows nothing of assay: a small network learns to tell two spirals apart.

Plain Python, no packages. It prints what training scripts print; `assay exec python3 examples/train.py` makes curves of it.
"""

import argparse
import math
import random

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=40)
parser.add_argument("--hidden", type=int, default=12)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--samples", type=int, default=200)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
random.seed(args.seed)


def spiral(count):
    for i in range(count):
        label = i % 2
        turn = 0.25 + 1.5 * random.random()
        angle = math.pi * (turn + label)
        yield (turn * math.cos(angle), turn * math.sin(angle)), label


train = list(spiral(args.samples))
test = list(spiral(args.samples // 2))
w1 = [[random.gauss(0, 1), random.gauss(0, 1), random.gauss(0, 0.5)] for _ in range(args.hidden)]
w2 = [random.gauss(0, 0.5) for _ in range(args.hidden + 1)]


def forward(x):
    hidden = [math.tanh(a * x[0] + b * x[1] + c) for a, b, c in w1]
    logit = sum(w * h for w, h in zip(w2, hidden)) + w2[-1]
    return hidden, 1 / (1 + math.exp(-max(-30, min(30, logit))))


def cross_entropy(probability, label):
    return -math.log(max(1e-12, probability if label else 1 - probability))


for epoch in range(1, args.epochs + 1):
    random.shuffle(train)
    total = 0.0
    for x, label in train:
        hidden, probability = forward(x)
        total += cross_entropy(probability, label)
        error = probability - label
        for j, h in enumerate(hidden):
            slope = error * w2[j] * (1 - h * h)
            w2[j] -= args.lr * error * h
            w1[j][0] -= args.lr * slope * x[0]
            w1[j][1] -= args.lr * slope * x[1]
            w1[j][2] -= args.lr * slope
        w2[-1] -= args.lr * error
    outcomes = [(forward(x)[1], label) for x, label in test]
    val_loss = sum(cross_entropy(p, label) for p, label in outcomes) / len(outcomes)
    val_acc = sum((p > 0.5) == bool(label) for p, label in outcomes) / len(outcomes)
    print(f"epoch {epoch}/{args.epochs} step {epoch}: loss={total / len(train):.4f} val_loss={val_loss:.4f} val_acc={val_acc:.4f}", flush=True)
