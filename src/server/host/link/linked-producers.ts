import { ok } from '../../../lib/result.ts'
import type { AppQuestions } from './app-requests.ts'
export class LinkedProducers {
  constructor(_: object) {}
  connected(_: AppQuestions): void {}
  disconnected(): void {}
  forget(): void {}
  register(_: string, __: unknown, ___: unknown) {
    return ok(null)
  }
  unregister(_: string) {
    return ok(null)
  }
  listChanged(_: string, __: unknown) {
    return ok(null)
  }
  updated(_: string) {
    return ok(null)
  }
}
