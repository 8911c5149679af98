#!/usr/bin/env bash
# A hook for git: `ln -s ../../scripts/pre-commit.sh .git/hooks/pre-commit`.
exec "$(git rev-parse --show-toplevel)/scripts/lint.sh" --staged
