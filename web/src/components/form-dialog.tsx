/** A dialog with a form: Cancel and one button that sends it. A refusal stays in it. */

import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { Dialog } from './dialog.tsx'
import { Refusal } from './refusal.tsx'
import { useSending } from './sending.ts'

interface FormDialogProps {
  title: string
  width: number
  /** What the button says: before, and while the form is sent. */
  verbs: readonly [string, string]
  isDisabled?: boolean
  /** Sending ends something. */
  isDanger?: boolean
  /** The call; undefined: it is not sent, and the fields say why. */
  send: () => Promise<void> | undefined
  /** After a call that was not refused. */
  onSent: () => void
  /** True for a refusal that stands at its field already. */
  isAtField?: (error: unknown) => boolean
  onClose: () => void
  /** Beside the buttons. */
  more?: ComponentChildren
  children: ComponentChildren
}

export function FormDialog(props: FormDialogProps) {
  const {
    title,
    width,
    verbs,
    isDisabled = false,
    isDanger = false,
    send,
    onSent,
    isAtField,
    onClose,
    more,
    children,
  } = props
  const form = useId()
  const sending = useSending()
  const submit = async () => {
    const call = isDisabled || sending.isSending ? undefined : send()
    if (call && (await sending.send(() => call))) onSent()
  }
  return (
    <Dialog
      title={title}
      width={width}
      onClose={onClose}
      footer={
        <>
          {more}
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            form={form}
            class={`btn ${isDanger ? 'del' : 'pri'}`}
            disabled={sending.isSending || isDisabled}
          >
            {verbs[sending.isSending ? 1 : 0]}
          </button>
        </>
      }
    >
      <form
        id={form}
        class="form-stack"
        noValidate
        onSubmit={event => {
          event.preventDefault()
          void submit()
        }}
      >
        {children}
        {sending.error !== undefined && !isAtField?.(sending.error) && <Refusal error={sending.error} />}
      </form>
    </Dialog>
  )
}
