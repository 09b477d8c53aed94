/** The login: the account key is exchanged for a session cookie, and not kept in the page. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { login } from '../../api/calls.ts'
import { ApiError, messageOf } from '../../api/client.ts'
import { Icon, Logo } from '../../components/icon.tsx'
import { begin, takeSession } from '../../live/server-state.ts'

/** What is wrong, in the words of the page. */
function problemOf(error: unknown): string {
  if (!(error instanceof ApiError)) return messageOf(error)
  if (error.status === 429) {
    const seconds = Math.ceil((error.retryAfterMs ?? 60_000) / 1000)
    return `Too many wrong keys. You can try again in ${seconds} s.`
  }
  const left = error.body.triesLeft
  const more = typeof left === 'number' ? ` You can try again ${left} more times in this minute.` : ''
  return error.status === 401 ? `That is not the key of this server.${more}` : error.message
}

export function Login() {
  const [key, setKey] = useState('')
  const [isVisible, setVisible] = useState(false)
  const [problem, setProblem] = useState<string>()
  const [isSending, setSending] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    document.title = `Sign in - mayfly ${location.host}`
    field.current?.focus()
  }, [])
  const submit = async (event: Event) => {
    event.preventDefault()
    if (key.trim() === '') {
      setProblem('Give the account key.')
      field.current?.focus()
      return
    }
    setSending(true)
    setProblem(undefined)
    try {
      takeSession(await login(key.trim()))
      await begin()
    } catch (error) {
      setProblem(problemOf(error))
      setSending(false)
      field.current?.focus()
    }
  }
  return (
    <main class="login" id="main">
      <div class="login-box">
        <div class="brand">
          <Logo />
          mayfly
        </div>
        <h1>Sign in to {location.host}</h1>
        <p class="t2 login-lead">This server can be reached from other machines, so it asks for the account key.</p>
        <form onSubmit={submit} noValidate>
          <label class="m" for="key">
            Account key
          </label>
          <span class={problem ? 'field bad' : 'field'}>
            <Icon name="key" />
            <input
              id="key"
              ref={field}
              type={(isVisible ? 'text' : 'password') as 'password'}
              autocomplete="current-password"
              spellcheck={false}
              value={key}
              aria-invalid={problem ? 'true' : undefined}
              aria-describedby={problem ? 'key-problem' : undefined}
              onInput={event => setKey(event.currentTarget.value)}
            />
            <button
              type="button"
              class="icon"
              aria-label={isVisible ? 'Hide key' : 'Show key'}
              aria-pressed={isVisible}
              onClick={() => setVisible(!isVisible)}
            >
              <Icon name="show" />
            </button>
          </span>
          {problem && (
            <span id="key-problem" class="danger fs12" role="alert">
              {problem}
            </span>
          )}
          <button type="submit" class="btn pri" disabled={isSending}>
            Sign in
          </button>
        </form>
        <p class="t2 fs12 login-foot">
          It is the key that the server was started with: <span class="mono t1">--key</span>, or a line of its{' '}
          <span class="mono t1">--key-file</span>. It is exchanged for a session cookie and not kept in this page.
        </p>
      </div>
    </main>
  )
}
