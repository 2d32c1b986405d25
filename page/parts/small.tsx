import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { clockAheadMs } from '../mcp/request.ts'
import { ago } from './now.ts'

/** A time in words, with the exact one on hover. A text is a time of the server, whose clock may differ. */
export function Ago({ at }: { at: number | string }) {
  const atMs = typeof at === 'string' ? Date.parse(at) - clockAheadMs() : at
  const date = new Date(atMs)
  return (
    <time aria-live="off" dateTime={date.toISOString()} title={date.toLocaleString()}>
      {ago(atMs)}
    </time>
  )
}

/** Says what is missing and what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2 class="title">{title}</h2>
      {children}
    </div>
  )
}

/** A text to copy, and the button that copies it. */
export function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <div class="copyable">
      <pre tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy: ${label}`}>
        Copy
      </CopyButton>
    </div>
  )
}

/** Copies a text, also over plain HTTP, where `navigator.clipboard` is missing. */
export function CopyButton({
  text,
  label,
  children = label,
}: {
  text: string
  label: string
  children?: string
}) {
  const status = useSignal<string | null>(null)
  const copy = async () => {
    const isDone = await writeClipboard(text).catch(() => false)
    status.value = isDone ? 'Copied' : 'Not copied'
    setTimeout(() => (status.value = null), 3000)
  }
  return (
    <button type="button" onClick={copy} aria-label={status.value ?? label}>
      {status.value ?? children}
    </button>
  )
}

async function writeClipboard(text: string): Promise<boolean> {
  if (window.isSecureContext) {
    await navigator.clipboard.writeText(text)
    return true
  }
  const put = (event: ClipboardEvent) => {
    event.preventDefault()
    event.clipboardData?.setData('text/plain', text)
  }
  document.addEventListener('copy', put, { once: true })
  const isDone = document.execCommand('copy')
  document.removeEventListener('copy', put)
  return isDone
}

/**
 * A button whose work may fail; says why beside it. It keeps the focus of the keyboard while it works,
 * and leaves it to the content of the page when it goes.
 */
export function Action({
  children,
  run,
  kind = '',
  disabled = false,
}: {
  children: ComponentChildren
  run: () => Promise<unknown>
  kind?: 'primary' | ''
  disabled?: boolean
}) {
  const isBusy = useSignal(false)
  const failure = useSignal<string | null>(null)
  const button = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => {
    const { current } = button
    return () => {
      if (document.activeElement !== current) return
      document.getElementById('content')?.focus({ preventScroll: true })
    }
  }, [])
  const isOff = disabled || isBusy.value
  const start = async () => {
    if (isOff) return
    isBusy.value = true
    failure.value = null
    try {
      await run()
    } catch (error) {
      failure.value = (error as Error).message
    }
    isBusy.value = false
  }
  return (
    <span class="action">
      <button ref={button} type="button" class={kind} aria-disabled={isOff} onClick={start}>
        {children}
      </button>
      {failure.value !== null && (
        <span class="failure" role="alert">
          {failure.value}
        </span>
      )}
    </span>
  )
}
