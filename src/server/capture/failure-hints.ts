import type { CaptureFailure } from './backend.ts'

/** What whoever reads can do about it, or tell the person who can. */
export const failureHints: Readonly<Record<CaptureFailure['reason'], string>> = {
  minimised: 'ask the person to restore the window, then read again',
  no_window: 'see that the application shows a window on this desktop',
  no_display: 'start the server in the desktop session of the application',
  permission: 'allow the program that started the server to record the screen',
  timeout: 'read again; see whether the application hangs',
  blank: 'read again in a moment; a window that is just being drawn is empty',
  covered: 'ask the person to bring the window to the front, or to run a compositor',
  host_busy: 'read again when the application is done with what keeps it',
  host_disconnected: 'open the application and press Connect',
  failed: 'read again; the server says more with --log-level debug',
}
