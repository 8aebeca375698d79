#!/usr/bin/env python3
"""A worker in Python: speaks worker protocol 1, with nothing but the standard library.

A configuration starts it so:

    [pools.py]
    command = ["python3", "examples/worker.py"]
    patterns = ["py.#"]

One thread reads frames, so that a cancel is heard while a task runs. The main thread runs one task at a time.
"""

import json
import os
import queue
import socket
import sys
import threading
import time
import traceback

# A frame has at most 1 MiB; this leaves room for what stands around the value.
RESULT_MAX = (1 << 20) - 4096


class Snooze(Exception):
    """Raised by a handler: run the task again after so many seconds. It counts as no attempt."""

    def __init__(self, seconds):
        self.seconds = seconds


class Cancelled(Exception):
    """Raised by a handler that gives in to a cancel."""


class Task:
    """What a handler sees of its task."""

    def __init__(self, worker, frame):
        self.id, self.attempt = frame["id"], frame["attempt"]
        self.name, self.args, self.kwargs = frame["task"], frame["args"], frame["kwargs"]
        self.cancelled = threading.Event()
        self._worker = worker

    def progress(self, fraction, note=None):
        self._worker.send(type="progress", id=self.id, fraction=fraction, **({"note": note} if note else {}))

    def call(self, command, data=None):
        """Asks the yard, and waits for the answer."""
        return self._worker.call(self.id, command, data)


class Worker:
    def __init__(self, handlers):
        self.handlers = handlers
        # The socket is descriptor 0. It becomes ours alone: what reads standard input finds nothing, and programs that
        # handlers start do not inherit it.
        self.socket = socket.socket(fileno=os.dup(int(os.environ.get("TASKYARD_FD", "0"))))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        self.frames = self.socket.makefile("rb")
        self.writing = threading.Lock()
        self.tasks = queue.Queue()
        self.known = {}
        self.answers = queue.Queue()
        self.seq = 0

    def send(self, **frame):
        # One line a frame: json.dumps writes no line break.
        line = json.dumps(frame, allow_nan=False).encode() + b"\n"
        with self.writing:
            self.socket.sendall(line)

    def call(self, task_id, command, data):
        self.seq += 1
        self.send(type="call", seq=self.seq, id=task_id, command=command, data=data)
        answer = self.answers.get()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer.get("ok")

    def read(self):
        for line in self.frames:
            frame = json.loads(line)
            kind = frame["type"]
            if kind == "run":
                task = self.known[frame["id"]] = Task(self, frame)
                self.tasks.put(task)
            elif kind == "cancel":
                # It may have ended meanwhile: then there is nothing to tell.
                task = self.known.get(frame["id"])
                if task:
                    task.cancelled.set()
            elif kind == "reply":
                self.answers.put(frame)
            elif kind == "stop":
                self.tasks.put(None)
            elif kind == "hello" and frame["protocol"] != 1:
                print(f"the yard speaks protocol {frame['protocol']}, this worker speaks 1", file=sys.stderr)
                os._exit(76)
        # The yard is gone, and so is whoever wanted the result.
        os._exit(0)

    def serve(self):
        threading.Thread(target=self.read, daemon=True).start()
        self.send(type="ready", protocol=1, concurrency=1, ahead=0, tasks=sorted(self.handlers))
        while (task := self.tasks.get()) is not None:
            self.send(type="started", id=task.id)
            end = self.run(task)
            del self.known[task.id]
            self.send(type="done", id=task.id, **end)
        self.send(type="bye")

    def run(self, task):
        try:
            value = self.handlers[task.name](task)
            if len(json.dumps(value, allow_nan=False)) > RESULT_MAX:
                raise TypeError(f"the result has more than {RESULT_MAX} bytes")
            return {"outcome": "succeeded", "value": value}
        except Cancelled:
            return {"outcome": "cancelled"}
        except Snooze as snooze:
            return {"outcome": "snooze", "seconds": snooze.seconds}
        except Exception as error:
            said = {"kind": type(error).__name__, "message": str(error), "trace": traceback.format_exc()}
            # Other arguments won't come with another attempt.
            said["retry"] = not isinstance(error, (KeyError, TypeError))
            return {"outcome": "failed", "error": said}


def add(task):
    return sum(task.args)


def count(task):
    """Counts slowly, and gives in when told to."""
    last = task.kwargs["to"]
    for number in range(last):
        if task.cancelled.is_set():
            raise Cancelled
        task.progress(number / last, f"{number} of {last}")
        time.sleep(task.kwargs.get("pause", 0.1))
    return last


def submit(task):
    """Submits the task that it is given, and gives back its id."""
    return task.call("submit", task.kwargs)


def patient(task):
    """Asks for another time, until a file is there."""
    if not os.path.exists(task.kwargs["path"]):
        raise Snooze(0.1)
    print("the file is there", flush=True)
    return task.attempt


if __name__ == "__main__":
    Worker({"py.add": add, "py.count": count, "py.submit": submit, "py.patient": patient}).serve()
