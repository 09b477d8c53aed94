/** Says why the server refused something, with the code and the activity id to copy. */

import { ApiError, messageOf } from '../api/client.ts'
import { copyText } from './copy.tsx'
import { Icon } from './icon.tsx'

/** What stands below a field of one line: `… (column 7)`. */
export function fieldText(error: unknown): string {
  const column = error instanceof ApiError ? error.column : undefined
  return column === undefined ? messageOf(error) : `${messageOf(error)} (column ${column})`
}

export function Refusal({ error, message = messageOf(error) }: { error: unknown; message?: string }) {
  const refused = error instanceof ApiError ? error : undefined
  return (
    <div class="note danger refusal" role="alert">
      <Icon name="warning" />
      <span class="grow">
        {message}
        {refused && (
          <span class="refusal-facts">
            <span class="mono">
              {refused.status} {refused.code}
            </span>
            {refused.activityId && (
              <button
                type="button"
                class="link"
                title={refused.activityId}
                onClick={() => void copyText(refused.activityId!, 'Activity id')}
              >
                Copy activity id
              </button>
            )}
          </span>
        )}
      </span>
    </div>
  )
}
