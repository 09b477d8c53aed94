/** Ends the session, for the button and the command. */

import { messageOf } from '../api/client.ts'
import { showToast } from '../components/toasts.tsx'
import { signOut } from '../live/server-state.ts'
import { closeDialog } from '../navigation/dialogs.ts'
import { canLeave } from '../navigation/router.ts'

export async function leaveSession(): Promise<void> {
  if (!canLeave()) return
  try {
    await signOut()
    closeDialog()
  } catch (error) {
    showToast({ kind: 'failed', title: `You are still signed in: ${messageOf(error)}` })
  }
}
