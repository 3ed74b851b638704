// Requests that the host sends. A request that someone awaits is something that the loop of promises waits for, beside
// timers. While it waits, the bodies that nobody reads yet are read ahead: a plugin that awaits five responses before
// it reads the first would otherwise keep the host from sending the fifth.

import http from "plugport:plugin/http-client@0.1.0";
import { checkLive } from "../engine/live.js";
import { addTimer, clearTimer, waitBeside } from "../engine/microtasks.js";
import { HttpError } from "./failure.js";

/** What is read ahead of a body, bytes. */
const READ_AHEAD = 64 << 10;

/** The same while someone awaits a response, or uploads: the request may wait for the permit of such a body. */
const READ_AHEAD_FOR_OTHERS = 1 << 20;

/** How long an upload waits until that much is read ahead, milliseconds. */
const PATIENCE = 1000;

/** Requests that have a handle. */
const open = new Set();

/** The resolvers of uploads that wait until the bodies of others are read ahead. */
const uploads = new Set();

export function send(request) {
  checkLive("`fetch`");
  return new SentRequest(attempt(() => http.send(request)));
}

class SentRequest {
  #handle;
  #hasHead = false;
  #written = 0;
  #ahead = [];
  #size = 0;
  #waiting = null; // the resolvers of who waits for the head, or for a piece
  #end = null; // a function that returns or throws what comes after the last piece

  constructor(handle) {
    this.#handle = handle;
    open.add(this);
  }

  get handle() {
    return this.#handle;
  }

  get isAwaited() {
    return this.#waiting !== null;
  }

  get awaitsHead() {
    return this.isAwaited && !this.#hasHead;
  }

  /** Whether it is awaited, or has read ahead less than this many bytes. */
  wantsNews(most) {
    return this.isAwaited || (this.#hasHead && this.#size < most);
  }

  /** Whether its body may have a permit that it would give back if it were read ahead. */
  get isBehind() {
    return this.#hasHead && this.#size < READ_AHEAD_FOR_OTHERS;
  }

  /** Hands over a piece. With the second the host waits for a permit, and nothing is read ahead meanwhile. */
  write(piece) {
    this.#written += 1;
    const before = this.#written === 2 ? othersReadAhead() : Promise.resolve();
    return before.then(() => attempt(() => this.#use().write(piece)));
  }

  finish() {
    this.#use().finish();
  }

  head() {
    return this.#later();
  }

  read() {
    if (this.#ahead.length === 0) return this.#later();
    const piece = this.#ahead.shift();
    this.#size -= piece.length;
    return Promise.resolve(piece);
  }

  /** Ends it. Whoever waits, and whoever reads on, gets the reason. */
  drop(reason) {
    const end = () => {
      throw reason;
    };
    this.#ahead = [];
    if (this.#end) this.#end = end;
    else this.#close(end);
  }

  /** Takes what the host has. */
  onNews() {
    try {
      if (!this.#hasHead) {
        const head = attempt(() => this.#handle.response());
        this.#hasHead = true;
        this.#settle(() => head);
      } else this.#take(attempt(() => this.#handle.read()));
    } catch (error) {
      this.#close(() => {
        throw error;
      });
    }
  }

  #take(piece) {
    if (piece.length === 0) this.#close(() => piece);
    else if (this.isAwaited) this.#settle(() => piece);
    else {
      this.#ahead.push(piece);
      this.#size += piece.length;
    }
  }

  #later() {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      if (this.#end) this.#settle(this.#end);
    });
  }

  #settle(outcome) {
    const waiting = this.#waiting;
    this.#waiting = null;
    try {
      waiting?.resolve(outcome());
    } catch (error) {
      waiting?.reject(error);
    }
  }

  #close(end) {
    if (this.#end) return;
    this.#end = end;
    open.delete(this);
    this.#handle[Symbol.dispose]();
    this.#settle(end);
  }

  #use() {
    if (this.#end) this.#end();
    return this.#handle;
  }
}

function attempt(run) {
  try {
    return run();
  } catch (thrown) {
    throw HttpError.from(thrown);
  }
}

const isAnyBehind = () => [...open].some(({ isBehind }) => isBehind);

/** Waits until the bodies of others have ended or are read ahead, but not for long: some end late. */
function othersReadAhead() {
  if (!isAnyBehind()) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = addTimer(goOn, PATIENCE, [], false);
    function goOn() {
      uploads.delete(goOn);
      clearTimer(timer);
      resolve();
    }
    uploads.add(goOn);
  });
}

waitBeside({
  isAwaited: () => uploads.size > 0 || [...open].some(({ isAwaited }) => isAwaited),

  /** Waits until one of them has news, or the time is up. */
  wait(ms) {
    if (uploads.size > 0 && !isAnyBehind()) {
      for (const goOn of uploads) goOn();
      return;
    }
    const isNeeded = uploads.size > 0 || [...open].some(({ awaitsHead }) => awaitsHead);
    const most = isNeeded ? READ_AHEAD_FOR_OTHERS : READ_AHEAD;
    const wanting = [...open].filter((request) => request.wantsNews(most));
    const handles = wanting.map(({ handle }) => handle);
    for (const at of http.wait(handles, ms)) wanting[at].onNews();
  },

  forget() {
    uploads.clear();
    for (const request of [...open]) request.drop();
  },
});
