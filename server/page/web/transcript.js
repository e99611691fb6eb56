// The messages of a conversation on the screen, and where it is scrolled to.

import { openCalls, path } from "./conversation.js";
import { byId, show } from "./dom.js";
import { AnswerTurn } from "./answer.js";
import { QuestionTurn, ResultTurn } from "./question.js";

const near = 80; // pixels from the end that count as being there

const turns = { user: QuestionTurn, assistant: AnswerTurn, tool: ResultTurn };

export class Transcript {
  // app is asked for the run of a node and told what buttons want.
  constructor(app) {
    this.app = app;
    this.element = byId("transcript");
    this.scroller = byId("scroller");
    this.turns = new Map();
    this.follows = true; // the end of the text, as long as nobody scrolls away
    this.scroller.addEventListener("scroll", () => {
      this.follows = this.fromEnd() < near;
      show(byId("latest"), !this.follows);
    });
    byId("latest").addEventListener("click", () => this.toEnd());
    new ResizeObserver(() => this.settle()).observe(this.element);
    new ResizeObserver(() => this.settle()).observe(this.scroller);
  }

  // show brings the screen in step with a conversation. Turns that stay keep their elements, and with them focus.
  show(conversation) {
    if (this.conversation !== conversation) {
      this.turns.clear();
      this.element.replaceChildren();
      this.follows = true;
    }
    this.conversation = conversation;
    const nodes = path(conversation);
    const wanted = new Set(nodes.map((node) => node.id));
    for (const [id, turn] of this.turns) {
      if (wanted.has(id)) continue;
      turn.element.remove();
      this.turns.delete(id);
    }
    this.open = new Set(openCalls(conversation));
    nodes.forEach((node, i) => {
      const known = this.turns.get(node.id);
      const turn = known?.node === node ? known : new turns[node.role](node, this.app);
      if (known && known !== turn) known.element.remove();
      this.turns.set(node.id, turn);
      if (this.element.children[i] !== turn.element)
        this.element.insertBefore(turn.element, this.element.children[i] ?? null);
      turn.update(this.open);
    });
    this.settle();
  }

  // update shows what is new in one node.
  update(node) {
    this.turns.get(node.id)?.update(this.open);
    this.settle();
  }

  fromEnd() {
    return this.scroller.scrollHeight - this.scroller.scrollTop - this.scroller.clientHeight;
  }

  settle() {
    if (this.follows) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  toEnd() {
    this.follows = true;
    this.settle();
  }

  // focus moves to the turn of a node, by default the last one.
  focus(node) {
    const turn = node ? this.turns.get(node.id) : [...this.turns.values()].at(-1);
    turn?.element.focus();
  }
}
