import type { RequestListener } from 'node:http'
import { isLocalPeer } from '../../lib/util/address.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { findForwardingHeader } from '../http/trusted-proxies.ts'
import { type Resident, residentJson } from './resident.ts'

/** Tells programs of this machine which gateway this is. Nobody else learns that there is such a path. */
export function createResidentRoom(resident: () => Resident | null): RequestListener {
  return (req, res) => {
    const { remoteAddress, localAddress } = req.socket
    const known = resident()
    const isLocal =
      isLocalPeer(remoteAddress, localAddress) && findForwardingHeader(req.headers) === null
    if (known === null || !isLocal) {
      throw new ServiceError('route_not_found', 'nothing is served here')
    }
    if (req.method !== 'GET') {
      throw new ServiceError('method_not_allowed', 'this path answers GET')
    }
    const body = Buffer.from(JSON.stringify(residentJson(known)))
    res.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': body.length,
      'Cache-Control': 'no-store',
    })
    res.end(body)
  }
}
