import type { Case } from '../case.ts'
import { bodyCases } from './bodies.ts'
import { httpMethodCases } from './http-methods.ts'
import { initializeCases } from './initialize.ts'
import { mediaCases } from './media.ts'
import { batchCases, methodCases } from './methods.ts'
import { statelessHeaderCases } from './stateless-headers.ts'
import { statelessCases } from './stateless-requests.ts'
import { originCases } from './origins.ts'
import { versionCases } from './versions.ts'

/** Everything that both servers are asked, by topic. */
export const topics: Readonly<Record<string, readonly Case[]>> = {
  'media types': mediaCases,
  'version headers': versionCases,
  bodies: bodyCases,
  methods: methodCases,
  batches: batchCases,
  initialize: initializeCases,
  'HTTP methods': httpMethodCases,
  'Host and Origin': originCases,
  'requests of 2026-07-28': statelessCases,
  'headers and streams of 2026-07-28': statelessHeaderCases,
}
