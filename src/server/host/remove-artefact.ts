import type { ServerResponse } from 'node:http'
import { ServiceError } from '../../lib/util/errors.ts'
import { artefactUri, isArtefactHex } from '../../lib/mcp/artefact-uri.ts'
import type { HostSink } from './host-sink.ts'
import { answerJson } from './json-exchange.ts'
import { artefactsOff } from './upload.ts'

/** Removes what is stored under the hash at the end of the address. */
export async function removeArtefact(
  res: ServerResponse,
  hex: string,
  store: HostSink['artefacts'],
): Promise<void> {
  if (store === null) throw artefactsOff()
  if (!isArtefactHex(hex)) {
    throw new ServiceError('body_invalid', 'the address must end in 64 lower-case hex digits', {
      hint: 'as in /host/v1/artefacts/<sha256>',
    })
  }
  const uri = artefactUri(hex)
  if (await store.remove(hex)) return answerJson(res, 200, { ok: true, uri })
  throw new ServiceError('resource_not_found', 'no artefact is stored under this hash', {
    data: { uri },
  })
}
