import { stat } from 'node:fs/promises'
import { findPortHolder } from '../../lib/util/port-holder.ts'
import { ownUid } from '../../lib/util/posix.ts'

/** What `bin/run.js` calls its process, which hides the arguments. */
const processTitle = 'service-cli'

/**
 * The process id of a `service-cli` of this user that listens on the port: on a gateway's port that
 * is a gateway. Null for every other program, and where the system does not say (only Linux does).
 */
export async function findOwnGateway(port: number): Promise<number | null> {
  const holder = await findPortHolder(port)
  if (holder === null || holder.program !== processTitle) return null
  const found = await stat(`/proc/${holder.pid}`).catch(() => null)
  return found?.uid === ownUid() ? holder.pid : null
}
