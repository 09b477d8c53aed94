/** The palette: go to a container or one of its screens, find an item by its id, or run a command. */

import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Countdown } from '../components/countdown.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { TtlBadge } from '../components/ttl-badge.tsx'
import { countedItems } from '../containers/words.ts'
import { databases } from '../live/server-state.ts'
import { allCommands } from '../navigation/commands.ts'
import { showDialog } from '../navigation/dialogs.ts'
import { KeyCaps } from '../navigation/key-caps.tsx'
import { go, shown } from '../navigation/router.ts'
import { addressOf } from '../navigation/routes.ts'
import { plainId } from '../text/id-text.ts'
import { useItemsById } from './item-by-id.ts'
import { matchPalette, type PaletteEntry, type PaletteGroup } from './palette-match.ts'
import { labelOf, screensOf } from './screens.ts'

/** Everything that can be found without asking the server. */
function entriesOf(): PaletteEntry[] {
  const now = shown.peek()
  const containers = (databases.peek() ?? []).flatMap(database =>
    database.containers.map(container => ({ database: database.id, container })),
  )
  const places = containers.flatMap(({ database, container }): PaletteEntry[] => {
    const isHere = now?.database === database && now.container === container.id
    const place: PaletteEntry = {
      id: `${database}/${container.id}`,
      group: 'Go to',
      label: container.id,
      icon: container.api === 'mongo' ? 'collection' : 'container',
      detail: `${database}, ${countedItems(container.living, container.api)}`,
      href: addressOf({ name: 'container', database, container: container.id }),
      end: <TtlBadge ttl={container.ttl} />,
      weight: isHere ? 2 : 1,
    }
    const tabs = screensOf(container.api)
      .filter(({ name }) => name !== 'items')
      .map(
        (screen): PaletteEntry => ({
          id: `${database}/${container.id}/${screen.name}`,
          group: 'Go to',
          label: `${container.id}, ${labelOf(screen, container.api)}`,
          icon: screen.icon,
          detail: database,
          href: addressOf({ name: 'container', database, container: container.id, screen: screen.name }),
          ...(screen.letter && isHere && { keys: `g ${screen.letter}` }),
          weight: isHere ? 1 : -2,
        }),
      )
    return [place, ...tabs]
  })
  const commands = allCommands().map(
    (command): PaletteEntry => ({
      ...command,
      group: 'Do',
      ...(command.disabled && { detail: command.disabled }),
      weight: 0,
    }),
  )
  return [...places, ...commands]
}

export const openPalette = () => showDialog(close => <Palette onClose={close} />)

function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const list = useRef<HTMLDivElement>(null)
  const known = useMemo(entriesOf, [])
  const now = shown.peek()
  const found = useItemsById(text).map(
    (item): PaletteEntry => ({
      id: `item/${item.key}`,
      group: 'Item by id',
      label: plainId(item.id),
      icon: 'item',
      detail: `${now!.database} / ${now!.container}`,
      href: addressOf({ ...now!, screen: 'items', params: { item: item.key } }),
      end: <DiesIn deadline={item.deadline} />,
      weight: 0,
    }),
  )
  const groups = matchPalette(known, text, found)
  const flat = groups.flatMap(group => group.entries)
  const chosen = Math.min(at, flat.length - 1)
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [chosen, text])

  const run = (entry: PaletteEntry | undefined, isNewTab = false) => {
    if (!entry || entry.disabled) return
    onClose()
    if (entry.href && isNewTab) open(entry.href, '_blank', 'noopener')
    else if (entry.href) go(entry.href)
    else entry.run?.()
  }
  /** What was typed last may not be drawn yet. */
  const chosenFor = (typed: string) =>
    typed === text ? flat[chosen] : matchPalette(known, typed, []).flatMap(group => group.entries)[0]
  const press = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step && flat.length > 0) setAt((chosen + step + flat.length) % flat.length)
    else if (event.key === 'Enter') run(chosenFor(event.currentTarget.value), event.metaKey || event.ctrlKey)
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Search or run" onClose={onClose} width={620} isBare>
      <div class="pal-in">
        <Icon name="search" />
        <input
          data-autofocus
          role="combobox"
          aria-label="Search or run"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={flat[chosen] && `palette-${chosen}`}
          placeholder="A container, a screen, an item's id, a command"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={event => {
            setText(event.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={press}
        />
        <kbd>Esc</kbd>
      </div>
      <div class="pal-list" id="palette-list" role="listbox" aria-label="Results" ref={list}>
        {groups.map(group => (
          <Group key={group.name} group={group} flat={flat} chosen={chosen} run={run} />
        ))}
        {flat.length === 0 && <p class="pal-none t2">Nothing matches.</p>}
      </div>
      <div class="pal-foot t3">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> move
        </span>
        <span>
          <kbd>Enter</kbd> open
        </span>
        <span class="hide-s">
          <KeyCaps keys="mod+enter" /> new tab
        </span>
        <span class="grow" />
        <span class="hide-s">
          <kbd>?</kbd> shows all shortcuts
        </span>
      </div>
    </Dialog>
  )
}

interface GroupProps {
  group: PaletteGroup
  flat: PaletteEntry[]
  chosen: number
  run: (entry: PaletteEntry, isNewTab: boolean) => void
}

function Group({ group, flat, chosen, run }: GroupProps) {
  return (
    <>
      <div class="pal-g" role="presentation">
        {group.name}
      </div>
      {group.entries.map(entry => {
        const index = flat.indexOf(entry)
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above takes the keys of the list.
          <div
            key={entry.id}
            id={`palette-${index}`}
            class={index === chosen ? 'pal-r on' : 'pal-r'}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            aria-disabled={entry.disabled !== undefined}
            onClick={event => run(entry, event.metaKey || event.ctrlKey)}
          >
            <Icon name={entry.icon} />
            <span class={entry.group === 'Item by id' ? 'nw mono' : 'nw'}>
              {entry.marks.map((part, place) =>
                part.isMatch ? <mark key={place}>{part.text}</mark> : <span key={place}>{part.text}</span>,
              )}
            </span>
            {entry.detail && <span class="d">{entry.detail}</span>}
            <span class="e">
              {entry.end}
              {entry.keys && <KeyCaps keys={entry.keys} />}
            </span>
          </div>
        )
      })}
    </>
  )
}

function DiesIn({ deadline }: { deadline: number | null }) {
  if (deadline === null) return <span class="never">never dies</span>
  return (
    <span>
      dies in <Countdown deadline={deadline} />
    </span>
  )
}
