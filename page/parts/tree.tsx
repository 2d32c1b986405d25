import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { nowMs } from './now.ts'
import type { TreeRow } from './flatten.ts'

const rowHeight = 28
/** Rows above and below those that are seen. */
const spare = 10
const changedForMs = 10_000
/** Deeper rows would be out of sight. */
const maxIndents = 12

interface TreeProps {
  readonly rows: readonly TreeRow[]
  readonly selectedId: string | null
  readonly changed: ReadonlyMap<string, number>
  onSelect(id: string): void
  onToggle(id: string, isOpen: boolean): void
}

/** A tree of any size: only the rows that are seen are in the document. */
export function Tree({ rows, selectedId, changed, onSelect, onToggle }: TreeProps) {
  const box = useRef<HTMLDivElement>(null)
  const top = useSignal(0)
  const height = useSignal(600)
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const measure = new ResizeObserver(() => (height.value = element.clientHeight))
    measure.observe(element)
    return () => measure.disconnect()
  }, [])

  const at = rows.findIndex(({ row }) => row.id === selectedId)
  useEffect(() => {
    const element = box.current
    if (element === null || at < 0) return
    const rowTop = at * rowHeight
    if (rowTop < element.scrollTop) element.scrollTop = rowTop
    else if (rowTop + rowHeight > element.scrollTop + element.clientHeight) {
      element.scrollTop = rowTop + rowHeight - element.clientHeight
    }
  }, [at])

  const first = Math.max(0, Math.floor(top.value / rowHeight) - spare)
  const last = Math.min(rows.length, Math.ceil((top.value + height.value) / rowHeight) + spare)
  const page = Math.max(1, Math.floor(height.value / rowHeight) - 1)

  const go = (to: number) => {
    const target = rows[Math.max(0, Math.min(rows.length - 1, to))]
    if (target !== undefined) onSelect(target.row.id)
  }
  const current = rows[at]
  const onKeyDown = (event: KeyboardEvent) => {
    const { key } = event
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: rows.length - 1,
    }
    const { isOpen = false, childCount = 0, level = 0 } = current ?? {}
    if (steps[key] !== undefined) go(steps[key])
    else if (key === 'ArrowRight' && isOpen) go(at + 1)
    else if (key === 'ArrowRight' && childCount > 0) onToggle(current!.row.id, true)
    else if (key === 'ArrowLeft' && isOpen) onToggle(current!.row.id, false)
    else if (key === 'ArrowLeft')
      go(rows.findLastIndex((each, index) => index < at && each.level < level))
    else return
    event.preventDefault()
  }

  const shown = rows.slice(first, last)
  return (
    <div
      ref={box}
      class="tree"
      role="tree"
      aria-label="Objects of the scene"
      tabIndex={0}
      aria-activedescendant={at >= first && at < last ? `row-${at}` : undefined}
      onKeyDown={onKeyDown}
      onScroll={event => (top.value = event.currentTarget.scrollTop)}
    >
      <div role="presentation" style={{ height: `${rows.length * rowHeight}px` }}>
        <div role="presentation" style={{ transform: `translateY(${first * rowHeight}px)` }}>
          {shown.map((each, index) => (
            <Row
              key={each.row.id}
              id={`row-${first + index}`}
              tree={each}
              isSelected={each.row.id === selectedId}
              changedMs={changed.get(each.row.id)}
              onSelect={onSelect}
              onToggle={onToggle}
            />
          ))}
        </div>
      </div>
    </div>
  )
}

interface RowProps extends Pick<TreeProps, 'onSelect' | 'onToggle'> {
  readonly id: string
  readonly tree: TreeRow
  readonly isSelected: boolean
  readonly changedMs: number | undefined
}

function Row({ id, tree, isSelected, changedMs, onSelect, onToggle }: RowProps) {
  const { row, level, childCount, isOpen, position, siblings } = tree
  // Reads the time only for rows that may fade.
  const isNew = changedMs !== undefined && nowMs.value - changedMs < changedForMs
  const classes = ['row', isSelected && 'chosen', isNew && 'new']
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={level}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-selected={isSelected}
      aria-expanded={childCount > 0 ? isOpen : undefined}
      class={classes.filter(Boolean).join(' ')}
      style={{ paddingLeft: `${Math.min(level - 1, maxIndents) * 16 + 4}px` }}
      onClick={() => onSelect(row.id)}
    >
      <span
        class="twist"
        aria-hidden="true"
        onClick={event => {
          event.stopPropagation()
          if (childCount > 0) onToggle(row.id, !isOpen)
        }}
      >
        {childCount === 0 ? '' : isOpen ? '▾' : '▸'}
      </span>
      <span class="name">{row.name || row.id}</span>
      {row.selected === true && <span class="tag">selected</span>}
      {row.visible === false && <span class="tag">hidden</span>}
      {isNew && <span class="tag">changed</span>}
      <span class="type">{row.type}</span>
    </div>
  )
}
