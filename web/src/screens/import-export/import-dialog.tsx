/** The dialog of an import: the file, how it is written, its progress, and the lines that were refused. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { getJob } from '../../api/calls.ts'
import { NoAnswerError } from '../../api/client.ts'
import { refusedAddress } from '../../api/container-calls.ts'
import type { Api, ContainerName, Job } from '../../api/shapes.ts'
import { announce } from '../../components/announce.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { Segments } from '../../components/segments.tsx'
import { itemsWord } from '../../containers/words.ts'
import { jobs } from '../../live/server-state.ts'
import { showDialog } from '../../navigation/dialogs.ts'
import { bytesText, count, counted } from '../../text/number-text.ts'
import { durationText } from '../../time/time-text.ts'
import { fileKind, fileProblem, firstLines, formatName } from './file-kind.ts'
import './import.css'
import { type Choice, failures, imports, startImport, stopImport } from './running-imports.ts'

interface Target {
  name: ContainerName
  api: Api
}

export const openImport = (target: Target, file?: File) =>
  showDialog(close => <ImportDialog {...target} first={file} onClose={close} />)

const modes = [
  { value: 'create', label: 'Refuse', text: 'Its line is refused, and what is there stays.' },
  { value: 'upsert', label: 'Replace', text: 'The line takes the place of what is there.' },
  { value: 'skip', label: 'Skip', text: 'What is there stays, and nobody counts it as a mistake.' },
] as const

const lives = [
  { value: 'remaining', label: 'What remained', text: 'Each lives as long as it had left when it was exported.' },
  { value: 'reset', label: 'Start anew', text: 'Each begins its whole life again, with the ttl that it has.' },
  { value: 'absolute', label: 'Same end', text: 'Each dies when it would have died. What is over already stays out.' },
] as const

const formatOptions = [
  { value: 'auto', label: 'By its name' },
  { value: 'jsonl', label: 'JSON Lines' },
  { value: 'json', label: 'JSON' },
  { value: 'csv', label: 'CSV' },
] as const

interface ImportDialogProps extends Target {
  first: File | undefined
  onClose: () => void
}

function ImportDialog({ name, api, first, onClose }: ImportDialogProps) {
  const [file, setFile] = useState(first)
  const [choice, setChoice] = useState<Choice>({ format: 'auto', mode: 'create', keepTtl: 'remaining' })
  const [jobId, setJobId] = useState<string | undefined>()
  const picker = useRef<HTMLInputElement>(null)
  const problem = file && fileProblem(file)
  const start = (skip = 0) => {
    if (file && !problem) setJobId(startImport(name, file, choice, skip))
  }
  const title = `Import into ${name.database} / ${name.container}`
  const pick = () => picker.current!.click()
  const chooser = (
    <input
      ref={picker}
      type="file"
      hidden
      accept=".jsonl,.ndjson,.json,.csv,.gz,.zst"
      data-test="import-file"
      onChange={event => setFile(event.currentTarget.files?.[0] ?? file)}
    />
  )
  if (jobId !== undefined && file) {
    return (
      <Dialog title={title} width={780} onClose={onClose} footer={<Ending id={jobId} onClose={onClose} goOn={start} />}>
        <div class="import-body">
          <FileCard file={file} choice={choice} />
          <Choices api={api} choice={choice} isFixed onChange={setChoice} />
          <Progress id={jobId} file={file} api={api} />
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog
      title={title}
      width={780}
      onClose={onClose}
      footer={
        <>
          <span class="t2 grow fs12">Nothing is written before you start.</span>
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="button" class="btn pri" disabled={!file || problem !== undefined} onClick={() => start()}>
            Start import
          </button>
        </>
      }
    >
      <div class="import-body">
        {chooser}
        {file ? (
          <FileCard file={file} choice={choice} onChange={pick} />
        ) : (
          <div class="import-pick">
            <Icon name="import" />
            <p>Drop a .jsonl, .json or .csv file here, as it is or with gzip or zstd.</p>
            <button type="button" class="btn" data-autofocus onClick={pick}>
              Choose a file…
            </button>
          </div>
        )}
        {problem !== undefined && (
          <p class="note danger" role="alert">
            <Icon name="warning" />
            <span>{problem}</span>
          </p>
        )}
        {file && problem === undefined && (
          <>
            <FirstLines file={file} />
            <Choices api={api} choice={choice} onChange={setChoice} />
          </>
        )}
      </div>
    </Dialog>
  )
}

function FileCard({ file, choice, onChange }: { file: File; choice: Choice; onChange?: () => void }) {
  const { format, packing } = fileKind(file.name)
  const known = choice.format === 'auto' ? format : choice.format
  const facts = [known && formatName[known], packing, bytesText(file.size)].filter(Boolean)
  return (
    <div class="import-file">
      <span class="t3">
        <Icon name="item" />
      </span>
      <div>
        <b class="b mono">{file.name}</b>
        <div class="t2 fs12">{facts.join(', ')}</div>
      </div>
      <button type="button" class="btn sm" disabled={!onChange} onClick={onChange}>
        Change file
      </button>
    </div>
  )
}

/** What is in the file, before anything is written. */
function FirstLines({ file }: { file: File }) {
  const [lines, setLines] = useState<readonly string[]>([])
  const isPacked = fileKind(file.name).packing !== undefined
  useEffect(() => {
    setLines([])
    if (isPacked) return
    let isWanted = true
    file
      .slice(0, 4_096)
      .text()
      .then(text => isWanted && setLines(firstLines(text)))
      .catch(() => {})
    return () => {
      isWanted = false
    }
  }, [file])
  if (lines.length === 0) return null
  return <pre class="import-first">{lines.join('\n')}</pre>
}

interface ChoicesProps {
  api: Api
  choice: Choice
  isFixed?: boolean
  onChange: (choice: Choice) => void
}

function Choices({ api, choice, isFixed = false, onChange }: ChoicesProps) {
  const fixed = isFixed ? { disabled: 'The import has begun.' } : {}
  const about = <Value extends string>(options: readonly { value: Value; text: string }[], value: Value) =>
    !isFixed && <p>{options.find(each => each.value === value)!.text}</p>
  return (
    <div class="import-choices">
      <div>
        <Segments
          label={`If the ${api === 'mongo' ? '_id' : 'id'} exists`}
          value={choice.mode}
          options={modes.map(({ value, label }) => ({ value, label, ...fixed }))}
          onChange={mode => onChange({ ...choice, mode })}
        />
        {about(modes, choice.mode)}
      </div>
      <div>
        <Segments
          label={`Life of imported ${itemsWord(api)}`}
          value={choice.keepTtl}
          options={lives.map(({ value, label }) => ({ value, label, ...fixed }))}
          onChange={keepTtl => onChange({ ...choice, keepTtl })}
        />
        {about(lives, choice.keepTtl)}
      </div>
      {!isFixed && (
        <Segments
          label="Format"
          value={choice.format}
          options={formatOptions}
          onChange={format => onChange({ ...choice, format })}
        />
      )}
    </div>
  )
}

/** The job with its refused lines, asked for again when there are more of them. */
function useRefusals(job: Job | undefined): readonly { line: number; message: string }[] {
  const [refusals, setRefusals] = useState<NonNullable<Job['refusals']>>([])
  const id = job?.id
  const refused = job?.refused ?? 0
  const isOver = job !== undefined && job.state !== 'running'
  useEffect(() => {
    if (id === undefined || refused === 0) return
    let isWanted = true
    const timer = setTimeout(
      () => {
        getJob(id).then(
          answer => isWanted && setRefusals(answer.refusals ?? []),
          () => {},
        )
      },
      isOver ? 0 : 500,
    )
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [id, refused, isOver])
  return refusals
}

function Progress({ id, file, api }: { id: string; file: File; api: Api }) {
  const job = jobs.value.get(id)
  const failure = failures.value.get(id)
  const refusals = useRefusals(job)
  const share = job === undefined ? 0 : shareOf(job)
  const tenth = Math.floor(share * 10)
  useEffect(() => {
    if (tenth > 0 && tenth < 10) announce(`Import ${tenth * 10} %`)
  }, [tenth])
  if (failure !== undefined) return <Refusal error={failure} />
  const { done = 0, total = null, isTotalAbout = false, written = 0, refused = 0, dead = 0, skipped = 0 } = job ?? {}
  const word = itemsWord(api)
  return (
    <>
      <div>
        <div class="import-numbers">
          <b class="b">{count(done)}</b>
          <span class="t2">
            {job?.state === 'running' && total !== null
              ? `of ${isTotalAbout ? 'about ' : ''}${count(total)} ${word}`
              : word}
          </span>
          <span class="grow" />
          <span class="t2">{job ? paceText(job) : 'Starting…'}</span>
        </div>
        <div
          class="prog"
          role="progressbar"
          aria-label="Import"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(share * 100)}
        >
          <i style={{ width: `${share * 100}%` }} />
        </div>
        <div class="import-facts">
          <span>{count(written)} written</span>
          {refused > 0 && <span class="danger">{count(refused)} refused</span>}
          {skipped > 0 && <span>{count(skipped)} skipped</span>}
          {dead > 0 && <span class="dead">{count(dead)} were dead on arrival</span>}
          <span class="grow" />
          {job && <span>{endText(job)}</span>}
        </div>
      </div>
      {job?.message && <p class="note danger">{job.message}</p>}
      {refused > 0 && (
        <div class="card">
          <header>
            <h3 class="grow">Refused, {counted(refused, 'row')}</h3>
            <a class="btn txt sm" href={refusedAddress(id)} download={`${fileKind(file.name).stem}.refused.jsonl`}>
              <Icon name="export" small />
              Save as {fileKind(file.name).stem}.refused.jsonl
            </a>
          </header>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard. */}
          <section class="import-refused" tabIndex={0} aria-label="Refused rows">
            <table class="tbl">
              <tbody>
                {refusals.map(({ line, message }) => (
                  <tr key={line}>
                    <td class="r t3">line {count(line)}</td>
                    <td>{message}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </section>
        </div>
      )}
    </>
  )
}

function shareOf({ state, done, total, bytesDone, bytesTotal }: Job): number {
  if (state === 'done') return 1
  if (bytesTotal) return Math.min(1, bytesDone / bytesTotal)
  return total ? Math.min(1, done / total) : 0
}

function paceText({ state, rate, startedMs, endedMs, ...job }: Job): string {
  if (state !== 'running')
    return endedMs === null ? '' : `in ${durationText(Math.max(0, (endedMs - startedMs) / 1000))}`
  const share = shareOf({ state, rate, startedMs, endedMs, ...job })
  const left = rate > 0 && share > 0.01 ? (job.done / share - job.done) / rate : undefined
  return `${count(Math.round(rate))} items/s${left === undefined ? '' : `, ${durationText(left)} left`}`
}

function endText({ state, done }: Job): string {
  if (state === 'done') return 'Finished'
  const from = `row ${count(done + 1)}`
  return state === 'running' ? `Safe to stop: it goes on from ${from}` : `Stopped. It can go on from ${from}`
}

function Ending({ id, onClose, goOn }: { id: string; onClose: () => void; goOn: (skip: number) => void }) {
  const job = jobs.value.get(id)
  const [isStopping, setStopping] = useState(false)
  const isRunning = failures.value.get(id) === undefined && (job === undefined || job.state === 'running')
  if (isRunning) {
    return (
      <>
        <span class="t2 grow fs12">You can close this. The import goes on and shows in the status line.</span>
        <button
          type="button"
          class="btn"
          disabled={isStopping}
          onClick={async () => {
            setStopping(true)
            await stopImport(id)
            setStopping(false)
          }}
        >
          {isStopping ? 'Stopping…' : 'Stop'}
        </button>
      </>
    )
  }
  const hasStopped = job !== undefined && (job.state === 'canceled' || job.state === 'failed')
  const canGoOn = hasStopped && imports.value.has(id)
  const isLost = failures.value.get(id) instanceof NoAnswerError
  return (
    <>
      <span class="t2 grow fs12">{isLost && 'Asking the server how far it came…'}</span>
      {canGoOn && (
        <button type="button" class="btn" onClick={() => goOn(job.done)}>
          Go on from row {count(job.done + 1)}
        </button>
      )}
      <button type="button" class="btn pri" onClick={onClose}>
        Close
      </button>
    </>
  )
}
