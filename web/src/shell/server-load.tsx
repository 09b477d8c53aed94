/** The page of the whole server's load. */

import { connection } from '../live/connection.ts'
import { noScreenText, useScreen } from './use-screen.ts'

const load = async () => (await import('../screens/load/load-screen.tsx')).ServerLoadScreen

export function ServerLoad({ params }: { params: Readonly<Record<string, string>> }) {
  const { Screen, error } = useScreen(load)
  if (error !== undefined) return <p class="pad danger">{noScreenText(error, connection.value === 'lost')}</p>
  return Screen ? <Screen params={params} /> : <div class="screen on" />
}
