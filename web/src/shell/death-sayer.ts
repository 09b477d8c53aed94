/** Makes one sentence of many deaths, so that it can be listened to. */

import { count } from '../text/number-text.ts'

/** Nobody can listen to more. */
const saidEveryMs = 10_000

/** Gathers deaths and says their sum: the first at once, later ones when the time is over. */
export function deathSayer(say: (text: string) => void, everyMs = saidEveryMs): (deaths: number) => void {
  let waiting = 0
  let isResting = false
  const tell = () => {
    isResting = waiting > 0
    if (!isResting) return
    say(`${count(waiting)} ${waiting === 1 ? 'item' : 'items'} died`)
    waiting = 0
    setTimeout(tell, everyMs)
  }
  return deaths => {
    waiting += deaths
    if (!isResting) tell()
  }
}
