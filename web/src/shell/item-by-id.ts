/** Looks for items of an id in the container that is shown, while the user types. */

import { useEffect, useState } from 'preact/hooks'
import { findItem, newQueryId, runQuery } from '../api/calls.ts'
import type { ContainerName } from '../api/shapes.ts'
import { findContainer } from '../live/server-state.ts'
import { shown } from '../navigation/router.ts'

export interface FoundItem {
  key: string
  id: string
  /** null: never. */
  deadline: number | null
}

const searchDelayMs = 180
/** Items of different partition keys may have the same id. */
const foundMax = 3

export function useItemsById(text: string): readonly FoundItem[] {
  const [items, setItems] = useState<readonly FoundItem[]>([])
  const now = shown.peek()
  const id = text.trim()
  useEffect(() => {
    setItems([])
    if (!now || id === '') return
    const abort = new AbortController()
    const timer = setTimeout(() => {
      find(now, id, abort.signal).then(setItems, () => {})
    }, searchDelayMs)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [id])
  return items
}

async function find(name: ContainerName, id: string, signal: AbortSignal): Promise<FoundItem[]> {
  if (findContainer(name)?.api === 'mongo') {
    const item = await findItem(name, id, undefined, signal)
    return item.isDead ? [] : [item]
  }
  const text = 'SELECT c.id FROM c WHERE c.id = @id'
  const body = { id: newQueryId(), text, parameters: [{ name: '@id', value: id }], limit: foundMax }
  const { lives } = await runQuery(name, body, signal)
  return lives.flatMap(life => (life?.key ? [{ id, key: life.key, deadline: life.deadline }] : []))
}
