/** The sheet of all shortcuts, with the switches for single letters and for what is said aloud. */

import { Dialog } from '../components/dialog.tsx'
import { showDialog } from '../navigation/dialogs.ts'
import { KeyCaps } from '../navigation/key-caps.tsx'
import { hasSingleLetters, setSingleLetters } from '../navigation/keyboard.ts'
import { saysDeaths, setSaysDeaths } from './said-deaths.ts'

interface Line {
  label: string
  keys: string[]
  /** Pressed before one of the keys. */
  prefix?: string
}

const groups: readonly { name: string; lines: readonly Line[] }[] = [
  {
    name: 'Everywhere',
    lines: [
      { label: 'Search or run a command', keys: ['mod+k'] },
      { label: 'This sheet', keys: ['?'] },
      { label: 'Items, Query, Settings, Expiry, Load, Feed', prefix: 'g', keys: ['i', 'q', 's', 'e', 'l', 'f'] },
      { label: 'Light, dark, system', keys: ['mod+shift+l'] },
      { label: 'Close, cancel, back', keys: ['escape'] },
    ],
  },
  {
    name: 'Items',
    lines: [
      { label: 'Next, previous row', keys: ['j', 'k'] },
      { label: 'Open item', keys: ['enter'] },
      { label: 'Select row', keys: ['x'] },
      { label: 'New item', keys: ['n'] },
      { label: 'Filter', keys: ['/'] },
      { label: 'All, under 1 min, dead but present, never', keys: ['1', '2', '3', '4'] },
      { label: 'Why does it die?', keys: ['w'] },
    ],
  },
  {
    name: 'Editor and query',
    lines: [
      { label: 'Save', keys: ['mod+s'] },
      { label: 'Run', keys: ['shift+enter'] },
      { label: 'Cancel query', keys: ['mod+.'] },
      { label: '+1 h for the open item', keys: ['alt+l'] },
    ],
  },
  {
    name: 'Clock, when manual',
    lines: [
      { label: '+1 m', keys: ['alt+m'] },
      { label: '+1 h', keys: ['alt+h'] },
      { label: '+1 d', keys: ['alt+d'] },
    ],
  },
]

export const openShortcuts = () => showDialog(close => <Shortcuts onClose={close} />)

function Shortcuts({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose} width={760}>
      <div class="sheet">
        {groups.map(({ name, lines }) => (
          <section key={name}>
            <h3>{name}</h3>
            {lines.map(({ label, keys, prefix }) => (
              <div key={label} class="sheet-line">
                <span class="grow">{label}</span>
                <span class="t3 nw">
                  {prefix && (
                    <>
                      <KeyCaps keys={prefix} /> then{' '}
                    </>
                  )}
                  {keys.map(each => (
                    <KeyCaps key={each} keys={each} />
                  ))}
                </span>
              </div>
            ))}
          </section>
        ))}
        <section>
          <h3>Single letters</h3>
          <Choice
            id="single-letters"
            label="J, K, N and the other letters work without Command or Control"
            isOn={hasSingleLetters.value}
            onChange={setSingleLetters}
          />
        </section>
        <section>
          <h3>Screen readers</h3>
          <Choice
            id="says-deaths"
            label="Say how many items of the open container died, every 10 s at most"
            isOn={saysDeaths.value}
            onChange={setSaysDeaths}
          />
        </section>
      </div>
    </Dialog>
  )
}

interface ChoiceProps {
  id: string
  label: string
  isOn: boolean
  onChange: (isOn: boolean) => void
}

function Choice({ id, label, isOn, onChange }: ChoiceProps) {
  return (
    <div class="sheet-line">
      <span class="grow" id={id}>
        {label}
      </span>
      <button
        type="button"
        class="switch"
        role="switch"
        aria-checked={isOn}
        aria-labelledby={id}
        onClick={() => onChange(!isOn)}
      />
    </div>
  )
}
