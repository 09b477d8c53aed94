/** Runs a stored procedure; says of triggers and functions how they run. */

import { useState } from 'preact/hooks'
import { messageOf } from '../../api/client.ts'
import { runProcedure } from '../../api/container-calls.ts'
import type { Script, ScriptKind, ScriptRun } from '../../api/container-shapes.ts'
import type { Container, ContainerName } from '../../api/shapes.ts'
import { isMac, useKeys } from '../../app/keyboard.ts'
import { announce } from '../../components/announce.tsx'
import { CodeView } from '../../components/code-view.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { Field } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { mayWrite } from '../../live/store.ts'
import { ruText } from '../../live/time-text.ts'
import { readArguments, readPartitionKey, resultText } from './script-words.ts'

interface RunPanelProps {
  name: ContainerName
  container: Container
  kind: ScriptKind
  script: Script
  /** What runs is what is saved. */
  isDirty: boolean
}

export function RunPanel(props: RunPanelProps) {
  if (props.kind === 'procedures') return <RunProcedure {...props} />
  return props.kind === 'triggers' ? <AboutTrigger script={props.script} /> : <AboutFunction script={props.script} />
}

function RunProcedure({ name, container, script, isDirty }: RunPanelProps) {
  const [key, setKey] = useState('')
  const [args, setArgs] = useState('[]')
  const [isTouched, setTouched] = useState(false)
  const [isRunning, setRunning] = useState(false)
  const [run, setRun] = useState<ScriptRun | undefined>()
  const [error, setError] = useState<unknown>()
  const levels = Math.max(1, container.partitionKey.length)
  const readKey = readPartitionKey(key, levels)
  const readArgs = readArguments(args)
  const start = async () => {
    setTouched(true)
    if (!readKey.value || !readArgs.value || isRunning || !mayWrite.value) return
    setRunning(true)
    setError(undefined)
    try {
      const answer = await runProcedure(name, script.id, { partitionKey: readKey.value, arguments: readArgs.value })
      setRun(answer)
      announce(`${answer.status}, ${ruText(answer.chargeRu)} RU, ${Math.round(answer.elapsedMs)} ms`)
    } catch (thrown) {
      setRun(undefined)
      setError(thrown)
    }
    setRunning(false)
  }
  useKeys({ 'shift+enter': () => void start(), f5: () => void start() })
  return (
    <>
      <section>
        <h2>Run</h2>
        <form
          class="form-stack"
          onSubmit={event => {
            event.preventDefault()
            void start()
          }}
        >
          <Field
            label={`Partition key, ${container.partitionKey.join(', ')}`}
            {...(isTouched && readKey.problem !== undefined && { problem: readKey.problem })}
          >
            <input
              class="mono"
              autocomplete="off"
              spellcheck={false}
              placeholder={levels > 1 ? '["a", "b"]' : '"u171"'}
              value={key}
              onInput={event => setKey(event.currentTarget.value)}
            />
          </Field>
          <Field
            label="Arguments, one JSON array"
            {...(isTouched && readArgs.problem !== undefined && { problem: readArgs.problem })}
          >
            <input
              class="mono"
              autocomplete="off"
              spellcheck={false}
              value={args}
              onInput={event => setArgs(event.currentTarget.value)}
            />
          </Field>
          <div class="row">
            <button
              type="submit"
              class="btn pri"
              disabled={isRunning || !mayWrite.value}
              title={mayWrite.value ? undefined : 'This key may only read.'}
            >
              <Icon name="play" />
              {isRunning ? 'Running…' : 'Run'}
              <kbd>{isMac ? '⇧⏎' : 'Shift ⏎'}</kbd>
            </button>
            <span class="t2 fs12">{isDirty ? 'Runs what was saved last' : 'Runs in one transaction'}</span>
          </div>
        </form>
      </section>
      {error !== undefined && <Refusal error={error} message={messageOf(error)} />}
      {run && <Result run={run} />}
    </>
  )
}

function Result({ run }: { run: ScriptRun }) {
  const { status, chargeRu, elapsedMs, log, message } = run
  const isGood = status < 400
  const text = resultText(run)
  return (
    <>
      <div class="script-result">
        <header>
          <span class={`pill ${isGood ? 'ok' : 'danger'}`}>{status}</span>
          <span>{ruText(chargeRu)} RU</span>
          <span>{Math.round(elapsedMs)} ms</span>
          <span class="grow" />
          {text && <CopyButton text={text} what="result" />}
        </header>
        {message !== undefined ? (
          <p class="message mono danger">{message}</p>
        ) : text ? (
          <CodeView text={text} language="json" label="Result" />
        ) : (
          <p class="message t2">It answered nothing.</p>
        )}
      </div>
      {log && (
        <div class="script-log">
          <h3>Console</h3>
          <pre>{log.trimEnd()}</pre>
        </div>
      )}
    </>
  )
}

function AboutTrigger({ script }: { script: Script }) {
  const when = script.type === 'Post' ? 'after' : 'before'
  const header = script.type === 'Post' ? 'postTriggerInclude' : 'preTriggerInclude'
  const example = `await container.items.create(item, {\n  ${header}: [${JSON.stringify(script.id)}],\n})`
  return (
    <section>
      <h2>How it runs</h2>
      <p class="t2">A trigger runs {when} a write, in its transaction, when the request names it.</p>
      <CodeView text={example} language="javascript" label="Example" />
    </section>
  )
}

function AboutFunction({ script }: { script: Script }) {
  const example = `SELECT VALUE udf.${script.id}(c)\nFROM c`
  return (
    <section>
      <h2>How it runs</h2>
      <p class="t2">A function is called by queries of this container.</p>
      <CodeView text={example} language="sql" label="Example" />
    </section>
  )
}
