import type { ServerResponse } from 'node:http'

/**
 * Waits until `res` is the answer that its connection is sending. A client may pipeline many
 * requests without reading: only one answer of a connection may hold a file and buffers. Resolves
 * with false when the client is gone.
 */
export async function awaitTurn(res: ServerResponse): Promise<boolean> {
  if (res.destroyed) return false
  // Node assigns the socket to one answer at a time, and then emits 'socket'.
  if (res.socket !== null) return true
  return new Promise(resolve => {
    const settle = () => {
      res.off('socket', settle).off('close', settle)
      resolve(!res.destroyed)
    }
    res.on('socket', settle).on('close', settle)
  })
}
