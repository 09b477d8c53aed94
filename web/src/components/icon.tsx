/** Icons, by name: 16 by 16, drawn with lines in the colour of the text around them. */

import type { JSX } from 'preact'

const shapes = {
  add: <path d="M8 3v10M3 8h10" />,
  import: <path d="M8 2.5v7m0 0L5 6.7M8 9.5l3-2.8M2.5 11v1.5c0 .6.4 1 1 1h9c.6 0 1-.4 1-1V11" />,
  export: <path d="M8 9.5v-7m0 0L5 5.3M8 2.5l3 2.8M2.5 11v1.5c0 .6.4 1 1 1h9c.6 0 1-.4 1-1V11" />,
  more: <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" stroke-width="2.4" />,
  container: (
    <>
      <rect x="2.75" y="2.75" width="10.5" height="10.5" rx="2" />
      <path d="M2.75 6.5h10.5" />
    </>
  ),
  collection: <path d="M8 14V7.5M8 2C5 4.2 4 6.4 4 8.2c0 2 1.7 3.5 4 3.5s4-1.5 4-3.5C12 6.4 11 4.2 8 2Z" />,
  database: (
    <>
      <ellipse cx="8" cy="4" rx="5" ry="1.9" />
      <path d="M3 4v8c0 1 2.2 1.9 5 1.9s5-.9 5-1.9V4M3 8c0 1 2.2 1.9 5 1.9S13 9 13 8" />
    </>
  ),
  copy: (
    <>
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3.5v-.25c0-.7-.55-1.25-1.25-1.25h-5.5c-.7 0-1.25.55-1.25 1.25v5.5c0 .7.55 1.25 1.25 1.25H4" />
    </>
  ),
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  events: <path d="M8.8 1.8 3.5 9h4l-.4 5.2L12.5 7h-4Z" />,
  filter: <path d="M2.5 4h11M4.5 8h7M6.5 12h3" />,
  columns: (
    <>
      <rect x="2.5" y="3" width="11" height="10" rx="1.5" />
      <path d="M6.2 3v10M9.8 3v10" />
    </>
  ),
  warning: (
    <>
      <path d="M8 2.6 14 13H2Z" />
      <path d="M8 6.5v3M8 11.2v.1" />
    </>
  ),
  clock: (
    <>
      <circle cx="8" cy="8" r="5.75" />
      <path d="M8 4.75V8l2.25 1.5" />
    </>
  ),
  search: (
    <>
      <circle cx="7" cy="7" r="4.25" />
      <path d="m10.2 10.2 3.3 3.3" />
    </>
  ),
  down: <path d="m4 6 4 4 4-4" />,
  right: <path d="m6 4 4 4-4 4" />,
  back: <path d="M13 8H3.5M7 4 3 8l4 4" />,
  link: <path d="M6.5 9.5 9.5 6.5M7 4.5l1-1a3 3 0 0 1 4.5 4.2l-1 1M9 11.5l-1 1a3 3 0 0 1-4.5-4.2l1-1" />,
  pause: <path d="M5.5 3.5v9M10.5 3.5v9" stroke-width="2" />,
  play: <path d="M5 3.3v9.4l7.5-4.7Z" fill="currentColor" />,
  stop: <rect x="4" y="4" width="8" height="8" rx="1" fill="currentColor" />,
  item: (
    <>
      <path d="M4 2h5l3.5 3.5V13c0 .6-.4 1-1 1H4c-.6 0-1-.4-1-1V3c0-.6.4-1 1-1Z" />
      <path d="M9 2v3.5h3.5" />
    </>
  ),
  info: (
    <>
      <circle cx="8" cy="8" r="5.75" />
      <path d="M8 7.4v3.3M8 5.2v.1" />
    </>
  ),
  theme: (
    <>
      <circle cx="8" cy="8" r="5.5" />
      <path d="M8 2.5v11A5.5 5.5 0 0 0 8 2.5Z" fill="currentColor" />
    </>
  ),
  lock: (
    <>
      <rect x="3.5" y="7" width="9" height="6.5" rx="1.5" />
      <path d="M5.5 7V5a2.5 2.5 0 0 1 5 0v2" />
    </>
  ),
  done: <path d="m3.5 8.3 3 3 6-6.6" />,
  menu: <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />,
  chart: <path d="M2.5 13.5v-5M6.2 13.5v-9M9.8 13.5V7M13.5 13.5v-3" />,
  show: (
    <>
      <path d="M1.8 8S4 3.8 8 3.8 14.2 8 14.2 8 12 12.2 8 12.2 1.8 8 1.8 8Z" />
      <circle cx="8" cy="8" r="1.8" />
    </>
  ),
  settings: (
    <>
      <circle cx="8" cy="8" r="2" />
      <path d="M8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6 5 5M11 11l1.4 1.4M3.6 12.4 5 11M11 5l1.4-1.4" />
    </>
  ),
  key: (
    <>
      <circle cx="5.2" cy="10.8" r="2.7" />
      <path d="m7.2 8.8 5.6-5.6M10.6 5.4l1.8 1.8" />
    </>
  ),
  reload: <path d="M13 8a5 5 0 1 1-1.5-3.6M13 2.5v3h-3" />,
  help: <path d="M6 6.2a2 2 0 1 1 2.9 1.9c-.6.3-.9.7-.9 1.4M8 11.9v.1" />,
} satisfies Record<string, JSX.Element>

export type IconName = keyof typeof shapes

/** `small` is 14 px, for lines of small text. */
export function Icon({ name, small = false }: { name: IconName; small?: boolean }) {
  return (
    <svg class={small ? 'i s' : 'i'} viewBox="0 0 16 16" aria-hidden="true">
      {shapes[name]}
    </svg>
  )
}

/** The logo: a mayfly, the one thing that is amber and not time. */
export function Logo() {
  return (
    <svg
      viewBox="0 0 24 24"
      aria-hidden="true"
      fill="none"
      stroke="currentColor"
      stroke-width="1.6"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      <path d="M7.2 14.3C6.8 9 8.3 4.8 12.4 2.2c.9 4.6-.4 8.6-3.3 11.6Z" fill="currentColor" fill-opacity=".28" />
      <path d="M9.6 13.9c2.3-3.4 5.3-5.2 9.2-5-1 3.5-3.8 5.7-7.6 6.2Z" fill="currentColor" fill-opacity=".12" />
      <path d="M5.6 13.2c2.5 1.3 6.2 1.5 8.6 4.6M14.2 17.8c1.7.5 3.6 1.7 5 3.9M14.2 17.8c2.3-.2 4.9.2 7.3 1.4" />
      <path d="M14.2 17.8c1 .9 1.9 2.4 2.3 4.2" />
    </svg>
  )
}
