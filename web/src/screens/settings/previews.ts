/** Counts the items that a change would end, while the user types it. */

import { useEffect, useState } from 'preact/hooks'
import { previewIndex, previewTtl } from '../../api/container-calls.ts'
import type { DateIndex, Preview } from '../../api/container-shapes.ts'
import type { ContainerName } from '../../api/shapes.ts'
import { useRefresh } from '../../live/refresh.ts'

/** A person who types is not asked after each key. */
const typingMs = 250
/** Time changes the numbers all the time. */
const gapMs = 2_000

/** The value once nobody has typed for a moment. */
function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), typingMs)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

/** What would die under this default, counted again while items are written, die and grow older. */
export function usePreview(name: ContainerName, defaultTtl: number | null | undefined) {
  const [counted, setCounted] = useState<{ defaultTtl: number | null; preview: Preview } | undefined>()
  const [error, setError] = useState<unknown>()
  const settled = useSettled(defaultTtl)
  useRefresh(
    async signal => {
      if (settled === undefined) return
      try {
        setCounted({ defaultTtl: settled, preview: await previewTtl(name, settled, signal) })
        setError(undefined)
      } catch (thrown) {
        if (signal.aborted) throw thrown
        setError(thrown)
      }
    },
    { gapMs, events: ['counts', 'time'] },
    [name.database, name.container, settled],
  )
  const isCurrent = counted !== undefined && counted.defaultTtl === defaultTtl
  return {
    preview: counted?.preview,
    isCounting: defaultTtl !== undefined && !isCurrent && error === undefined,
    error,
    take: (preview: Preview) => defaultTtl !== undefined && setCounted({ defaultTtl, preview }),
  }
}

/**
 * How many documents a date index would end at once. Counting looks at all of them, so it is done once for
 * each index that is typed; the server counts again when it is made.
 */
export function useEnded(name: ContainerName, index: DateIndex | undefined) {
  const asked = JSON.stringify(index)
  const [counted, setCounted] = useState<{ asked: string | undefined; now: number } | undefined>()
  const [failed, setFailed] = useState<{ asked: string | undefined; error: unknown } | undefined>()
  const settled = useSettled(asked)
  useEffect(() => {
    if (settled === undefined) return
    const abort = new AbortController()
    previewIndex(name, JSON.parse(settled) as DateIndex, abort.signal).then(
      ({ now }) => setCounted({ asked: settled, now }),
      error => {
        if (!abort.signal.aborted) setFailed({ asked: settled, error })
      },
    )
    return () => abort.abort()
  }, [settled])
  return {
    now: asked !== undefined && counted?.asked === asked ? counted.now : undefined,
    error: asked !== undefined && failed?.asked === asked ? failed.error : undefined,
    take: (now: number) => setCounted({ asked, now }),
  }
}
