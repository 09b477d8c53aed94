/** The shell around all screens, and what decides which one is shown. */

import { useEffect } from 'preact/hooks'
import { Announcer } from '../components/announce.tsx'
import { Toasts } from '../components/toasts.tsx'
import { openNewContainer } from '../containers/new-container.tsx'
import { connection } from '../live/connection.ts'
import { firstError, hasLoggedIn, needsLogin } from '../live/server-state.ts'
import { useCommands } from '../navigation/commands.ts'
import { closeDialog, openDialog } from '../navigation/dialogs.ts'
import { useKeys } from '../navigation/keyboard.ts'
import { go, route } from '../navigation/router.ts'
import { addressOf, base } from '../navigation/routes.ts'
import { Landing } from '../screens/landing/landing.tsx'
import { Login } from '../screens/login/login.tsx'
import { isDark, nextTheme, theme } from '../theme/theme.ts'
import { clockMode } from '../time/clock.ts'
import { Bars } from './bars.tsx'
import { ContainerPage } from './container-page.tsx'
import { NotFound } from './not-found.tsx'
import { openPalette } from './palette.tsx'
import { ServerLoad } from './server-load.tsx'
import { openShortcuts } from './shortcuts.tsx'
import { leaveSession } from './sign-out.ts'
import { StatusLine } from './status-line.tsx'
import { TopBar } from './top-bar.tsx'
import { Tree } from './tree.tsx'
import { isDrawerOpen } from './tree-state.ts'

function Screen() {
  const now = route.value
  if (now.name === 'landing') return <Landing />
  if (now.name === 'load') return <ServerLoad params={now.params} />
  if (now.name === 'container') return <ContainerPage route={now} />
  return <NotFound title="There is no such page." text={`Nothing lies at ${location.pathname}.`} />
}

function OpenDialog() {
  const now = openDialog.value
  return now ? <div key={now.id}>{now.render(closeDialog)}</div> : null
}

/** Everything that works on all screens. */
function useShellKeys() {
  useKeys({
    'mod+k': openPalette,
    '?': openShortcuts,
    'mod+shift+l': nextTheme,
    escape: () => {
      isDrawerOpen.value = false
    },
  })
  useCommands(
    [
      {
        id: 'theme',
        label: isDark() ? 'Use light theme' : 'Use dark theme',
        icon: 'theme',
        keys: 'mod+shift+l',
        run: () => {
          theme.value = isDark() ? 'light' : 'dark'
        },
      },
      { id: 'new-container', label: 'New container', icon: 'add', run: () => openNewContainer() },
      { id: 'landing', label: 'Connection strings and demo', icon: 'link', run: () => go(base) },
      {
        id: 'load',
        label: 'Load of the whole server',
        icon: 'chart',
        run: () => go(addressOf({ name: 'load' })),
      },
      { id: 'shortcuts', label: 'Keyboard shortcuts', icon: 'help', keys: '?', run: openShortcuts },
      ...(hasLoggedIn.value
        ? [{ id: 'sign-out', label: 'Sign out', icon: 'key' as const, run: () => void leaveSession() }]
        : []),
    ],
    [theme.value, hasLoggedIn.value],
  )
}

export function Shell() {
  useShellKeys()
  useEffect(() => {
    document.body.dataset.net = connection.value === 'lost' ? 'off' : ''
    document.body.dataset.clock = clockMode.value
  }, [connection.value, clockMode.value])
  if (needsLogin.value) return <Login />
  return (
    <>
      <a class="skip" href="#main">
        Skip to the screen
      </a>
      <div class="app" data-drawer={isDrawerOpen.value ? '1' : undefined}>
        <TopBar />
        <Bars />
        <Tree />
        {isDrawerOpen.value && (
          // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes the drawer, and so does its button.
          // biome-ignore lint/a11y/noStaticElementInteractions: it only lies around the drawer.
          <div
            class="drawer-scrim"
            onClick={() => {
              isDrawerOpen.value = false
            }}
          />
        )}
        <main class="main" id="main" tabIndex={-1}>
          {firstError.value === undefined ? (
            <Screen />
          ) : (
            <NotFound title="The server refused the page." text={firstError.value} />
          )}
        </main>
        <StatusLine />
      </div>
      <OpenDialog />
      <Toasts />
      <Announcer />
    </>
  )
}
