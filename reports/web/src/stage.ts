// Stage: draws what is in sight. A chart or a long table that is scrolled away, folded or hidden waits until it is seen,
// so that opening a report and brushing cost no more than what the screen shows. For printing,
// everything is drawn.

export interface Actor {
  readonly box: HTMLElement;
  draw(printing: boolean): void;
}

interface Place {
  readonly actor: Actor;
  visible: boolean;
  dirty: boolean;
  attached: boolean;  // it has been in the document
}

export class Stage {
  private readonly actors = new Map<Element, Place>();
  private readonly observer: IntersectionObserver;
  private scheduled = false;
  private printing = false;

  constructor() {
    this.observer = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        const state = this.actors.get(entry.target);
        if (state !== undefined) state.visible = entry.isIntersecting;
      }
      this.schedule();
    }, { rootMargin: '50px' });
    window.addEventListener('beforeprint', () => this.print(true));
    window.addEventListener('afterprint', () => this.print(false));
  }

  // Until its box leaves the document. Adding an actor again changes nothing.
  add(actor: Actor): void {
    if (this.actors.has(actor.box)) return;
    this.actors.set(actor.box, { actor, visible: false, dirty: true, attached: false });
    this.observer.observe(actor.box);
  }

  // The actor must be drawn again, when it is in sight.
  invalidate(actor: Actor): void {
    const state = this.actors.get(actor.box);
    if (state !== undefined) state.dirty = true;
    this.schedule();
  }

  invalidateAll(): void {
    for (const state of this.actors.values()) state.dirty = true;
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.draw(false));
  }

  // What has changed, where it is in sight or everywhere.
  private draw(everywhere: boolean): void {
    this.scheduled = false;
    for (const [box, state] of this.actors) {
      if (state.attached && !box.isConnected) {
        this.observer.unobserve(box);
        this.actors.delete(box);
        continue;
      }
      state.attached = box.isConnected;
      if (!state.dirty || (!state.visible && !everywhere)) continue;
      state.dirty = false;
      state.actor.draw(this.printing);
    }
  }

  // Everything, afterwards too: what is out of sight would keep the width of paper.
  private print(printing: boolean): void {
    this.printing = printing;
    for (const state of this.actors.values()) state.dirty = true;
    this.draw(true);
  }
}

export const stage = new Stage();
