/** Runs single scripts in tests, each in a turn of its own. */

import type {
  ScriptCaller,
  ScriptRunner,
  StoredProcedureOutcome,
  StoredProcedureRun,
  TriggerOutcome,
  TriggerRun,
} from '../../src/scripts/script-runner.ts'

type Limits = Partial<ScriptCaller>

export function runStoredProcedure(
  runner: ScriptRunner,
  run: StoredProcedureRun,
  limits: Limits = {},
): Promise<StoredProcedureOutcome> {
  return runner.inTurn({ path: ['container', 'key', run], ...limits }, runs => runs.runStoredProcedure(run))
}

export function runTrigger(runner: ScriptRunner, run: TriggerRun): Promise<TriggerOutcome> {
  return runner.inTurn({ path: ['container', 'key', run] }, runs => runs.runTrigger(run))
}
