/** The first screen: how to connect, a demo to watch, and what lives here. */

import { useState } from 'preact/hooks'
import { makeDemo } from '../../api/calls.ts'
import { CodeView } from '../../components/code-view.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { moveFocus } from '../../components/roving.ts'
import { useRefresh } from '../../live/refresh.ts'
import { loadOverview, mayWrite, reloadTree, session } from '../../live/server-state.ts'
import { go } from '../../navigation/router.ts'
import { addressOf } from '../../navigation/routes.ts'
import { DemoBars } from './demo-bars.tsx'
import { snippetsOf } from './snippets.ts'
import { WhatLives } from './what-lives.tsx'

function CopyRow({ label, text, shown = text }: { label: string; text: string; shown?: string }) {
  return (
    <div class="copyrow">
      <span class="t2">{label}</span>
      <span class="mono" title={shown}>
        {shown}
      </span>
      <CopyButton text={text} what={label} />
    </div>
  )
}

/** A connection string without the middle of its key, which nobody reads. */
function shorten(uri: string, key: string | null | undefined): string {
  const written = key && [key, encodeURIComponent(key)].find(each => uri.includes(each))
  return written ? uri.replace(written, `${written.slice(0, 9)}…`) : uri
}

function Snippets() {
  const [chosen, setChosen] = useState(0)
  const known = session.value
  if (!known) return null
  const snippets = snippetsOf(known)
  const snippet = snippets[Math.min(chosen, snippets.length - 1)]!
  return (
    <>
      <div class="langs">
        <div role="tablist" aria-label="Language" onKeyDown={event => moveFocus(event, '[role=tab]')}>
          {snippets.map(({ name }, index) => (
            <button
              key={name}
              type="button"
              role="tab"
              aria-selected={snippets[index] === snippet}
              tabIndex={snippets[index] === snippet ? 0 : -1}
              onClick={() => setChosen(index)}
              onFocus={() => setChosen(index)}
            >
              {name}
            </button>
          ))}
        </div>
        <span class="grow" />
        <CopyButton text={snippet.text} what={`the program in ${snippet.name}`} />
      </div>
      <CodeView text={snippet.text} language={snippet.language} label={`A program in ${snippet.name}`} />
    </>
  )
}

function Connect() {
  const known = session.value
  const { endpoint, key, mongoUri, connectionString, keepsData } = known ?? {}
  return (
    <section class="card connect" aria-labelledby="connect">
      <header>
        <h2 class="grow" id="connect">
          Connect
        </h2>
        <span class="t3 fs12">{keepsData === false ? 'in memory, nothing is kept after exit' : known?.store}</span>
      </header>
      {endpoint && <CopyRow label="Cosmos DB" text={endpoint.replace(/\/$/, '')} />}
      {key ? (
        <CopyRow label="Key" text={key} />
      ) : (
        known && (
          <div class="copyrow">
            <span class="t2">Key</span>
            <span class="t2">the account key that the server was started with</span>
          </div>
        )
      )}
      {connectionString && key && (
        <CopyRow label="Connection string" text={connectionString} shown={shorten(connectionString, key)} />
      )}
      {mongoUri && <CopyRow label="MongoDB" text={mongoUri} shown={shorten(mongoUri, key)} />}
      <Snippets />
    </section>
  )
}

function Demo() {
  const [isMaking, setMaking] = useState(false)
  const [error, setError] = useState<unknown>()
  const make = async () => {
    setMaking(true)
    setError(undefined)
    try {
      const { database, container } = await makeDemo()
      await reloadTree()
      go(addressOf({ name: 'container', database, container }))
    } catch (thrown) {
      setError(thrown)
      setMaking(false)
    }
  }
  return (
    <section class="card demo" aria-labelledby="demo">
      <div class="body">
        <DemoBars />
      </div>
      <div class="body">
        <h2 class="h2" id="demo">
          Watch 200 items die
        </h2>
        <p class="t2">
          Makes the container <span class="mono t1">demo / sessions</span> with a TTL of 30 s and opens it. Nothing else
          is touched.
        </p>
        <div>
          <button
            type="button"
            class="btn pri"
            disabled={isMaking || !mayWrite.value}
            title={session.value && !mayWrite.value ? 'A read-only key cannot write' : undefined}
            onClick={make}
          >
            Create demo
          </button>
        </div>
        {error !== undefined && <Refusal error={error} />}
      </div>
    </section>
  )
}

export function Landing() {
  useRefresh(loadOverview, { gapMs: 2000, events: ['counts', 'catalog', 'time'] }, [])
  return (
    <section class="screen on" aria-label="Start">
      <div class="scroll">
        <div class="land">
          <div class="land-head">
            <h1>Data that dies on time</h1>
            <p class="lead">
              This server speaks Azure Cosmos DB for NoSQL{session.value?.mongoUri !== null && ' and MongoDB'}. Connect
              with the SDK you have, or watch 200 items live and die first.
            </p>
          </div>
          <Connect />
          <Demo />
          <WhatLives />
        </div>
      </div>
    </section>
  )
}
