import { messageOf, ServiceError } from '../util/errors.ts'

/**
 * Shows a secret that cannot be shown again. When stdout cannot be written, `undo` revokes the
 * secret and the error says so; `leftOver` is the hint when that fails.
 */
export async function showOnce(
  show: () => Promise<void>,
  undo: { what: string; leftOver: string; run(): Promise<unknown> },
): Promise<void> {
  try {
    await show()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const { code, message } = error
    try {
      await undo.run()
    } catch (failure) {
      const why = messageOf(failure)
      const text = `${message}; the new ${undo.what} was not shown and is still valid (${why})`
      throw new ServiceError(code, text, { hint: undo.leftOver })
    }
    throw new ServiceError(code, `${message}; the new ${undo.what} was not shown and is revoked`, {
      hint: 'free disk space or fix the pipe, then run the command again',
    })
  }
}
