/** Watches a container while a screen of it is shown: its deaths, changes and load come live. */

import { useEffect } from 'preact/hooks'
import type { ContainerName } from '../api/shapes.ts'
import { type Watch, watch } from './connection.ts'

export function useWatch({ database, container }: ContainerName, feed: Watch['feed'] = 'none'): void {
  useEffect(() => watch({ database, container, feed }), [database, container, feed])
}
