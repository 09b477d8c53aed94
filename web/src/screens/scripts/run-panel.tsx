/** Runs a stored procedure or a function; says of a trigger how it runs. */

import { useState } from 'preact/hooks'
import { runQuery } from '../../api/calls.ts'
import { messageOf } from '../../api/client.ts'
import { runProcedure } from '../../api/container-calls.ts'
import type { Script, ScriptKind, ScriptRun } from '../../api/container-shapes.ts'
import type { Container, ContainerName } from '../../api/shapes.ts'
import { announce } from '../../components/announce.tsx'
import { CodeView } from '../../components/code-view.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { Field } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { mayWrite } from '../../live/server-state.ts'
import { keyText } from '../../navigation/key-caps.tsx'
import { useKeys } from '../../navigation/keyboard.ts'
import { ruText } from '../../text/number-text.ts'
import { functionQuery, readArguments, readPartitionKey, resultText } from './script-words.ts'

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
  return props.kind === 'triggers' ? <AboutTrigger script={props.script} /> : <RunFunction {...props} />
}

function RunProcedure({ name, container, script, isDirty }: RunPanelProps) {
  return (
    <RunForm
      keyPaths={container.partitionKey}
      isDirty={isDirty}
      note="Runs in one transaction"
      refusal={mayWrite.value ? undefined : 'This key may only read.'}
      run={(args, partitionKey) => runProcedure(name, script.id, { partitionKey, arguments: args })}
    />
  )
}

/** A query without FROM makes one row: what the function answers. */
function RunFunction({ name, script, isDirty }: RunPanelProps) {
  const example = `SELECT VALUE udf.${script.id}(c)\nFROM c`
  return (
    <>
      <RunForm
        isDirty={isDirty}
        note="Runs in a query"
        run={async args => {
          const { rows, chargeRu, elapsedMs } = await runQuery(name, functionQuery(script.id, args))
          return { status: 200, ...(rows.length > 0 && { result: rows[0] }), chargeRu, elapsedMs, log: '' }
        }}
      />
      <section>
        <h2>In a query</h2>
        <p class="t2">Queries of this container call it, with the values of each row.</p>
        <CodeView text={example} language="sql" label="Example" />
      </section>
    </>
  )
}

interface RunFormProps {
  /** Missing: it runs in no partition. */
  keyPaths?: readonly string[]
  isDirty: boolean
  note: string
  /** Why it may not be run. */
  refusal?: string | undefined
  run: (args: unknown[], partitionKey: unknown[]) => Promise<ScriptRun>
}

function RunForm({ keyPaths, isDirty, note, refusal, run }: RunFormProps) {
  const [key, setKey] = useState('')
  const [args, setArgs] = useState('[]')
  const [isTouched, setTouched] = useState(false)
  const [isRunning, setRunning] = useState(false)
  const [answer, setAnswer] = useState<ScriptRun | undefined>()
  const [error, setError] = useState<unknown>()
  const levels = Math.max(1, keyPaths?.length ?? 1)
  const readKey = keyPaths ? readPartitionKey(key, levels) : { value: [] }
  const readArgs = readArguments(args)
  const start = async () => {
    setTouched(true)
    if (!readKey.value || !readArgs.value || isRunning || refusal !== undefined) return
    setRunning(true)
    setError(undefined)
    try {
      const next = await run(readArgs.value, readKey.value)
      setAnswer(next)
      announce(`${next.status}, ${ruText(next.chargeRu)} RU, ${Math.round(next.elapsedMs)} ms`)
    } catch (thrown) {
      setAnswer(undefined)
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
          {keyPaths && (
            <Field
              label={`Partition key, ${keyPaths.join(', ')}`}
              {...(isTouched && readKey.problem !== undefined && { problem: readKey.problem })}
            >
              <input
                class="mono"
                autocomplete="off"
                spellcheck={false}
                placeholder={levels > 1 ? '["a", "b"]' : 'u171'}
                value={key}
                onInput={event => setKey(event.currentTarget.value)}
              />
            </Field>
          )}
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
            <button type="submit" class="btn pri" disabled={isRunning || refusal !== undefined} title={refusal}>
              <Icon name="play" />
              {isRunning ? 'Running…' : 'Run'}
              <kbd>{keyText('shift+enter')}</kbd>
            </button>
            <span class="t2 fs12">{isDirty ? 'Runs what was saved last' : note}</span>
          </div>
        </form>
      </section>
      {error !== undefined && <Refusal error={error} message={messageOf(error)} />}
      {answer && <Result run={answer} />}
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
      <p class="t2">
        A trigger runs {when} a write, in its transaction, when the request names it. It has no run of its own, because
        that would write an item.
      </p>
      <CodeView text={example} language="javascript" label="Example" />
    </section>
  )
}
