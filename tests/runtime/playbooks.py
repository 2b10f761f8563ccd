"""Playbooks whose effects can be counted. `OUTSIDE` stands for a folder outside of every workspace."""

COUNTED = r"""
format: earnest-playbook-v1
intent: Leave exactly one line for each effect
task_class: counted_effects
subtasks:
  - id: outer
    sequence: 1
    intent: An effect outside the workspace that can be looked at
    criteria: [{text: it was noted, check: {kind: files, required: [{path: noted, regex: '^x\n$'}]}}]
    approaches:
      - id: only
        steps:
          - tool: shell
            args: {command: "echo x >> OUTSIDE/ledger"}
            writes: [OUTSIDE]
            look: "test -e OUTSIDE/ledger"
          - {tool: shell, args: {command: "echo x >> noted"}}
  - id: left
    sequence: 2
    intent: One of two at the same time
    criteria: [{text: one line, check: {kind: files, required: [{path: left, regex: '^x\n$'}]}}]
    approaches: [{id: only, steps: [{tool: shell, args: {command: "echo x >> left; echo x >> left.log"}}]}]
  - id: right
    sequence: 2
    intent: The other of two
    criteria: [{text: one line, check: {kind: files, required: [{path: right/line, regex: '^x\n$'}]}}]
    approaches: [{id: only, steps: [{tool: shell, args: {command: "mkdir right; echo x >> right/line; rm -f none"}}]}]
  - id: learnt
    sequence: 3
    intent: The first approach leaves the wrong thing behind, the second the right one after a correction
    criteria:
      - {text: one line of its own, check: {kind: files, required: [{path: learnt, regex: '^right\n$'}]}}
      - {text: nothing stale, check: {kind: files, required: [{path: learnt}], forbidden: [stale]}}
    approaches:
      - {id: wrong, steps: [{tool: shell, args: {command: "echo wrong >> learnt; echo x >> stale; rm left.log"}}]}
      - id: right
        steps: [{tool: shell, args: {command: "echo almost >> learnt; echo x >> tries"}}]
        corrections: [[{tool: shell, args: {command: "echo right > learnt; echo x >> tries"}}]]
criteria:
  - {text: each effect once, check: {kind: command, command: "test \"$(cat left.log tries | wc -l)\" = 3"}}
"""

BLIND = r"""
format: earnest-playbook-v1
intent: An effect outside the workspace that nothing can tell of
task_class: blind_effect
subtasks:
  - id: outer
    intent: One line
    criteria: [{text: done, check: {kind: files, required: [{path: done}]}}]
    approaches:
      - id: only
        steps:
          - {tool: shell, args: {command: "echo x >> OUTSIDE/ledger; touch done"}, writes: [OUTSIDE]}
"""
