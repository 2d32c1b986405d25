import { messageOf } from '../../../lib/util/message-of.ts'
import type { CaptureFailure, Unavailable } from '../backend.ts'

export const permission: CaptureFailure = {
  reason: 'permission',
  message:
    'macOS does not let this program see other windows: allow it in System Settings, Privacy & Security, Screen & System Audio Recording, for the terminal that serve runs in, and start both again',
}

/** The library throws texts: these are the ones that mean more than that it failed. */
const noManager = /_NET_CLIENT_LIST_STACKING/
const noDisplay = /display string|Connection closed|connect.*display/i

/** Why windows cannot be listed at all. */
export function failureOfListing(error: unknown): CaptureFailure {
  const text = textOf(error)
  if (noManager.test(text)) {
    return { reason: 'failed', message: 'no window manager runs on the display' }
  }
  if (noDisplay.test(text)) {
    return { reason: 'no_display', message: 'there is no display, or it does not let us in' }
  }
  return { reason: 'failed', message: `the windows cannot be listed: ${text}` }
}

export function unavailableOfListing(error: unknown): Unavailable {
  const text = textOf(error)
  if (noManager.test(text)) {
    const hint = 'start one there, for example openbox'
    return { reason: 'no_window_manager', message: failureOfListing(error).message, hint }
  }
  return {
    reason: noDisplay.test(text) ? 'no_display' : 'failed',
    message: failureOfListing(error).message,
    hint: 'start serve in the session of the desktop',
  }
}

export function failureOfCapture(error: unknown): CaptureFailure {
  const message = `the system gave no picture of the window: ${textOf(error)}`
  return { reason: 'failed', message }
}

/** Its texts come from the system: short, and without what would disturb a terminal. */
function textOf(error: unknown): string {
  const text = messageOf(error)
  return text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 200)
}
