import type { MaybePromise } from './maybe-promise.ts'
import type { Template } from './producer.ts'

export interface Completion {
  readonly values: string[]
  readonly total: number
  readonly hasMore: boolean
}

/** A template with whoever knows the values of its variables. */
export interface OwnedTemplate {
  readonly template: Template
  complete(variable: string, prefix: string): MaybePromise<readonly string[]>
}

/** The protocol allows no more in one answer. */
const maxValues = 100

export function completion(values: readonly string[]): Completion {
  return {
    values: values.slice(0, maxValues),
    total: values.length,
    hasMore: values.length > maxValues,
  }
}

/** The names between the braces of an RFC 6570 template. */
export function templateVariables(uriTemplate: string): string[] {
  return Array.from(uriTemplate.matchAll(/\{[+#./;?&]?([^{}]*)\}/g)).flatMap(([, list = '']) =>
    list.split(',').map(name => name.replace(/(?:\*|:\d+)$/, '')),
  )
}
