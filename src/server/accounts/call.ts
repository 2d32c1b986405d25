import type { IncomingMessage } from 'node:http'
import type { PeerOf } from '../http/trusted-proxies.ts'
import { addressKey } from './client-address.ts'

/** One request, as far as every part of the accounts server knows it. */
export interface Call {
  /** In the answer as `instance`, and in the log. */
  readonly requestId: string
  /** Of the client. */
  readonly address: string
  /** What the limits count the address as. */
  readonly addressKey: string
  readonly userAgent: string | null
  readonly authorization: string | undefined
  /** For the access log: the id of the account, once it is known. */
  principal: string
}

const maxUserAgentChars = 200

export function describeCall(req: IncomingMessage, requestId: string, peerOf: PeerOf): Call {
  const address = peerOf(req)
  return {
    requestId,
    address,
    addressKey: addressKey(address),
    userAgent: cleanUserAgent(req.headers['user-agent']),
    authorization: req.headers.authorization,
    principal: 'anonymous',
  }
}

/** It is shown in the list of sessions: one short line, nothing that a terminal acts upon. */
function cleanUserAgent(text: string | undefined): string | null {
  const clean = text?.replace(/[^\x20-\x7e]/g, '?').slice(0, maxUserAgentChars)
  return clean === undefined || clean === '' ? null : clean
}
