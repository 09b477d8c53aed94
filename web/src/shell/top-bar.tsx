/** The top bar: logo, connection and time, endpoints, search, clock, theme, help. */

import { CopyButton } from '../components/copy.tsx'
import { Icon, Logo } from '../components/icon.tsx'
import { connection } from '../live/connection.ts'
import { hasLoggedIn, session } from '../live/server-state.ts'
import { KeyCaps } from '../navigation/key-caps.tsx'
import { base } from '../navigation/routes.ts'
import { nextTheme, theme } from '../theme/theme.ts'
import { clockMode, eachSecond, isTimeKnown } from '../time/clock.ts'
import { timeOfDay } from '../time/time-text.ts'
import { isoText, zone } from '../time/zone.ts'
import { openPalette } from './palette.tsx'
import { openShortcuts } from './shortcuts.tsx'
import { leaveSession } from './sign-out.ts'
import { isDrawerOpen } from './tree-state.ts'

function LiveState() {
  const isManual = clockMode.value === 'manual'
  const state = connection.value
  const word =
    state === 'lost' ? 'Reconnecting' : state === 'connecting' ? 'Connecting' : isManual ? 'Clock stands' : 'Live'
  const now = eachSecond.value
  return (
    <span class="live">
      <i class={state === 'live' ? 'dot' : 'dot off'} />
      <span>{word}</span>
      {isTimeKnown.value && (
        <time class="t3 hide-m tm" title={isoText(now)}>
          {timeOfDay(now, zone())}
        </time>
      )}
    </span>
  )
}

/** Without the key: the whole connection string stands on the landing page. */
function hostOf(uri: string): string {
  const { protocol, host } = new URL(uri)
  return `${protocol}//${host}`
}

function Endpoints() {
  const { endpoint, mongoUri } = session.value ?? {}
  return (
    <>
      {endpoint && (
        <CopyButton text={endpoint} what="Cosmos DB endpoint" class="chip ep hide-m">
          <span class="mono">{endpoint.replace(/\/$/, '')}</span>
        </CopyButton>
      )}
      {mongoUri && (
        <CopyButton text={mongoUri} what="MongoDB connection string" class="chip ep hide-m">
          <span class="mono">{hostOf(mongoUri)}</span>
        </CopyButton>
      )}
    </>
  )
}

export function TopBar() {
  return (
    <header class="top">
      <button
        type="button"
        class="icon menu"
        aria-label={isDrawerOpen.value ? 'Close databases' : 'Open databases'}
        aria-expanded={isDrawerOpen.value}
        onClick={() => {
          isDrawerOpen.value = !isDrawerOpen.value
        }}
      >
        <Icon name="menu" />
      </button>
      <a class="brand" href={base} title="Connect, demo, and what lives here">
        <Logo />
        mayfly
      </a>
      <LiveState />
      <Endpoints />
      <span class="grow" />
      <button type="button" class="chip searchbtn hide-m" onClick={openPalette}>
        <Icon name="search" small />
        Search or run
        <KeyCaps keys="mod+k" />
      </button>
      <button type="button" class="icon onlym" aria-label="Search or run" onClick={openPalette}>
        <Icon name="search" />
      </button>
      <span class="chip plain hide-m" title={clockTitle()}>
        <Icon name="clock" small />
        Clock: {clockMode}
      </span>
      <button
        type="button"
        class="icon"
        aria-label={`Theme: ${theme.value}. Change it`}
        title={`Theme: ${theme.value}`}
        onClick={nextTheme}
      >
        <Icon name="theme" />
      </button>
      <button
        type="button"
        class="icon hide-m"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts"
        onClick={openShortcuts}
      >
        <Icon name="help" />
      </button>
      {hasLoggedIn.value && (
        <button type="button" class="btn txt sm" onClick={() => void leaveSession()}>
          Sign out
        </button>
      )}
    </header>
  )
}

function clockTitle(): string {
  return clockMode.value === 'manual'
    ? 'Time stands until you move the clock'
    : 'The clock of the machine. Start the server with --clock manual to move it by hand'
}
