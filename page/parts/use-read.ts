import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { McpError } from '../mcp/carrier.ts'

const retryMs = 3000

/**
 * Reads when a dependency changes, and again some seconds after the server could not be reached. What a
 * server refuses is read again at the next change. `value` is what was read last, null at first;
 * `trouble` says why nothing newer came.
 */
export function useRead<Value>(read: () => Promise<Value>, dependencies: readonly unknown[]) {
  const reading = useSignal({ value: null as Value | null, trouble: null as string | null })
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
