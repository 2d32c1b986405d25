/** Whether an application is connected to a server. `since`, RFC 3339: since when it is, or is gone. */
interface ApplicationState {
  readonly connected: boolean
  /** Null before the first connection. */
  readonly since: string | null
}

/** Returns since when the application of a server is gone; null when it is connected, or never was. */
export function absenceText({ connected, since }: ApplicationState): string | null {
  return connected || since === null ? null : `application gone since ${since}`
}
