/** The screen of an unknown address: a sentence and the way back. */

import { base } from '../navigation/routes.ts'

export function NotFound({ title, text }: { title: string; text: string }) {
  return (
    <section class="screen on" aria-label="Not found">
      <div class="nothing">
        <h1>{title}</h1>
        <p class="t2">{text}</p>
        <a class="btn" href={base}>
          What lives here
        </a>
      </div>
    </section>
  )
}
