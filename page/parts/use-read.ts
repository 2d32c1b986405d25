import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { McpError } from '../mcp/carrier.ts'

const retryMs = 3000

/** What was read last; null: nothing yet. `trouble`: why nothing newer came. */
export interface Reading<Value> {
  readonly value: Value | null
  readonly trouble: string | null
}

/**
 * Reads when a dependency changes, and again some seconds after the server could not be reached. What a
 * server refuses is read again at the next change.
 */
export function useRead<Value>(
  read: () => Promise<Value>,
  dependencies: readonly unknown[],
): ReadonlySignal<Reading<Value>> {
  const reading = useSignal<Reading<Value>>({ value: null, trouble: null })
  useEffect(() => {
    let isOver = false
    let timer = 0
    const start = () => {
      read().then(
        value => {
          if (!isOver) reading.value = { value, trouble: null }
        },
        (error: Error) => {
          if (isOver) return
          reading.value = { ...reading.value, trouble: error.message }
          if (!(error instanceof McpError)) timer = window.setTimeout(start, retryMs)
        },
      )
    }
    start()
    return () => {
      isOver = true
      clearTimeout(timer)
    }
  }, dependencies)
  return reading
}
