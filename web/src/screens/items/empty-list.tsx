/** Shown in place of rows: for an empty container, or a filter that nothing matches. */

import type { Container, ContainerName, Filter } from '../../api/shapes.ts'
import { itemsWord, itemWord, placeWord } from '../../containers/words.ts'
import { mayWrite } from '../../live/server-state.ts'
import { goToScreen } from '../../navigation/router.ts'
import { spanText } from '../../time/time-text.ts'

interface EmptyListProps {
  name: ContainerName
  container: Container
  query: string
  filter: Filter
  isBrushed: boolean
  onClear: () => void
}

/** What the group says when nobody is in it. */
const groupTexts: Readonly<Record<Filter, string>> = {
  all: 'Nothing matches.',
  minute: 'Nobody dies within the minute.',
  dead: 'Nobody is dead but present.',
  never: 'Nobody lives for ever.',
}

function ttlSentence({ ttl, api }: Container): string {
  const what = itemsWord(api)
  if (ttl.kind === 'off') return `Time to Live is off: ${what} never expire.`
  if (ttl.kind === 'no default') return `New ${what} never expire, except those with a ttl of their own.`
  if (ttl.kind === 'date') return `A TTL index on a date field says when ${what} die.`
  return `New ${what} live ${spanText(ttl.seconds)}, except those with a ttl of their own.`
}

export function EmptyList({ container, query, filter, isBrushed, onClear }: EmptyListProps) {
  const { api } = container
  const isFiltered = query !== '' || filter !== 'all' || isBrushed
  if (isFiltered) {
    return (
      <div class="empty">
        <p>
          {query !== '' || isBrushed ? 'Nothing matches.' : groupTexts[filter]}{' '}
          <button type="button" class="link" onClick={onClear}>
            {query !== '' || isBrushed ? 'Clear filter' : `Show all ${itemsWord(api)}`}
          </button>
        </p>
      </div>
    )
  }
  return (
    <div class="empty">
      <h2>This {placeWord(api)} is empty</h2>
      <p class="t2">{ttlSentence(container)}</p>
      {mayWrite.value && (
        <button type="button" class="btn pri" onClick={() => goToScreen('items', { item: 'new', wide: '1' })}>
          New {itemWord(api)}
        </button>
      )}
    </div>
  )
}
