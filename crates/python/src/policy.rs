// SPDX-License-Identifier: GPL-2.0-or-later
//! Policies that are written in Python: asked with the interpreter's lock held, once for each wake-up and once more for each look.
//!
//! A function that returns answers at once. One that yields CPUs is a search: each `yield` is a look, which takes its time on the simulated machine, and
//! gives what is seen there. An answer is a CPU, or `None`, which leaves the choice to the kernel's rules.

use fairlab_cli::embed::MakePolicy;
use fairlab_sched::cpumask::CpuMask;
use fairlab_sched::ids::{CpuId, TaskId};
use fairlab_sched::told::policy;
use fairlab_sched::told::policy::{WakeChoice, WakePolicy};
use pyo3::exceptions::PyStopIteration;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A wake-up that needs a CPU.
#[pyclass(module = "fairlab._native", frozen)]
pub(crate) struct WakeRequest {
    /// The time since the machine's clocks began, in ns.
    #[pyo3(get)]
    now_ns: u64,
    /// The name of the task.
    #[pyo3(get)]
    task: Py<PyString>,
    /// Its process id.
    #[pyo3(get)]
    pid: i32,
    /// The CPU that it has used.
    #[pyo3(get)]
    prev: u32,
    /// The CPU that wakes it.
    #[pyo3(get)]
    waker: u32,
    /// Whether the waker is about to sleep.
    #[pyo3(get)]
    sync: bool,
    /// Whether an interrupt wakes it.
    #[pyo3(get)]
    in_interrupt: bool,
    /// Its utilisation, of 1024.
    #[pyo3(get)]
    util: u64,
    allowed: CpuMask,
    active: CpuMask,
    cache: Option<CpuMask>,
}

#[pymethods]
impl WakeRequest {
    /// The CPUs that the task may use, from the lowest.
    #[getter]
    fn allowed(&self) -> Vec<u32> {
        self.allowed.iter_and(&self.active).map(|cpu| cpu.0).collect()
    }

    /// Those of them that share a last-level cache with the previous one, from that one on and around.
    #[getter]
    fn cache(&self) -> Vec<u32> {
        let span = self.cache.as_ref();
        let cpus = span.map(|span| span.iter_and_wrap_from(&self.allowed, CpuId(self.prev)).map(|cpu| cpu.0).collect());
        cpus.unwrap_or_default()
    }

    /// Whether the task may use a CPU.
    fn may_use(&self, cpu: u32) -> bool {
        let is_there = (cpu as usize) < self.active.nr_cpus();
        is_there && self.allowed.contains(CpuId(cpu)) && self.active.contains(CpuId(cpu))
    }

    fn __repr__(&self) -> String {
        format!(
            "<WakeRequest of {}, pid {}: CPU {} wakes it, it was on CPU {}>",
            self.task, self.pid, self.waker, self.prev
        )
    }
}

/// What a look at a CPU shows.
#[pyclass(module = "fairlab._native", frozen, get_all)]
pub(crate) struct CpuLook {
    /// The CPU.
    cpu: u32,
    /// Whether a woken task would run there at once.
    is_idle: bool,
    /// Runnable tasks.
    nr_running: u32,
    /// Utilisation by fair tasks, of 1024.
    util: u64,
    /// Their load.
    load: u64,
    /// The CPU's capacity, of 1024.
    capacity_orig: u64,
    /// What others than fair tasks leave of it.
    capacity: u64,
}

#[pymethods]
impl CpuLook {
    fn __repr__(&self) -> String {
        let Self { cpu, is_idle, nr_running, util, .. } = self;
        format!("<CpuLook at CPU {cpu}: {}, {nr_running} running, util {util}>", if *is_idle { "idle" } else { "busy" })
    }
}

impl From<&policy::CpuLook> for CpuLook {
    fn from(look: &policy::CpuLook) -> Self {
        let &policy::CpuLook { cpu, is_idle, nr_running, util, load, capacity_orig, capacity } = look;
        Self { cpu: cpu.0, is_idle, nr_running, util, load, capacity_orig, capacity }
    }
}

/// What policies have raised: the cause of the error that ends their run.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    fn note(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// An error with its cause, if a policy has raised one.
    pub(crate) fn cause_of<T>(&self, py: Python<'_>, result: PyResult<T>) -> PyResult<T> {
        let cause = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        result.inspect_err(|error| {
            if let Some(cause) = cause {
                error.set_cause(py, Some(cause));
            }
        })
    }
}

/// Policies with their names, as Python gives them: each a function that makes the function which is asked, anew for each run.
pub(crate) type Policies = Vec<(String, Py<PyAny>)>;

/// The same for the command.
pub(crate) fn makers(policies: Option<Policies>, raised: &Raised) -> Vec<(String, MakePolicy)> {
    let maker = |(name, make): (String, Py<PyAny>)| {
        let raised = raised.clone();
        let make: MakePolicy = Arc::new(move || {
            Python::attach(|py| {
                let make = || -> PyResult<InPython> {
                    let generator = py.import("types")?.getattr("GeneratorType")?.cast_into::<PyType>()?.unbind();
                    let raised = raised.clone();
                    Ok(InPython {
                        ask: make.call0(py)?,
                        generator,
                        searches: HashMap::new(),
                        names: Vec::new(),
                        raised,
                    })
                };
                make().map(|policy| Box::new(policy) as Box<dyn WakePolicy>).map_err(|error| {
                    let why = format!("could not be made: {error}");
                    raised.note(error);
                    why
                })
            })
        });
        (name, make)
    };
    policies.unwrap_or_default().into_iter().map(maker).collect()
}

/// A policy in Python, during a run.
struct InPython {
    /// The function that is asked.
    ask: Py<PyAny>,
    /// The type of what such a function returns if it yields.
    generator: Py<PyType>,
    /// Searches that are under way, by their tasks.
    searches: HashMap<TaskId, Py<PyAny>>,
    /// The names of tasks, by their numbers.
    names: Vec<Option<Py<PyString>>>,
    raised: Raised,
}

impl WakePolicy for InPython {
    fn select(&mut self, request: &policy::WakeRequest<'_>, seen: Option<&policy::CpuLook>) -> WakeChoice {
        Python::attach(|py| {
            let choice = match seen {
                None => self.begin(py, request),
                Some(look) => self.go_on(py, request.task, look),
            };
            choice.unwrap_or_else(|error| {
                let why = format!("has raised {error}");
                self.raised.note(error);
                WakeChoice::Fail(why)
            })
        })
    }

    fn meets(&mut self, task: TaskId, name: &str) {
        let place = task.index();
        if self.names.len() <= place {
            self.names.resize_with(place + 1, || None);
        }
        self.names[place] = Some(Python::attach(|py| PyString::new(py, name).unbind()));
    }
}

impl InPython {
    /// Asks for the first time.
    fn begin(&mut self, py: Python<'_>, request: &policy::WakeRequest<'_>) -> PyResult<WakeChoice> {
        let name = self.names.get(request.task.index()).and_then(Option::as_ref).map(|name| name.clone_ref(py));
        let told = WakeRequest {
            now_ns: request.now.0,
            task: name.unwrap_or_else(|| PyString::new(py, "").unbind()),
            pid: request.pid,
            prev: request.prev.0,
            waker: request.waker.0,
            sync: request.sync,
            in_interrupt: request.in_interrupt,
            util: request.util,
            allowed: request.allowed.clone(),
            active: request.active.clone(),
            cache: request.cache.cloned(),
        };
        let answer = self.ask.bind(py).call1((told,))?;
        if !answer.is_instance(self.generator.bind(py))? {
            return Ok(answered(&answer));
        }
        let none = py.None().into_bound(py);
        let choice = step(&answer, none)?;
        if matches!(choice, WakeChoice::Look(_)) {
            self.searches.insert(request.task, answer.unbind());
        }
        Ok(choice)
    }

    /// Tells a search what was seen.
    fn go_on(&mut self, py: Python<'_>, task: TaskId, look: &policy::CpuLook) -> PyResult<WakeChoice> {
        let search = self.searches.remove(&task).expect("a look belongs to a search");
        let seen = Bound::new(py, CpuLook::from(look))?.into_any();
        let choice = step(search.bind(py), seen)?;
        if matches!(choice, WakeChoice::Look(_)) {
            self.searches.insert(task, search);
        }
        Ok(choice)
    }
}

/// Lets a search go on to its next look or its end.
fn step(search: &Bound<'_, PyAny>, seen: Bound<'_, PyAny>) -> PyResult<WakeChoice> {
    let py = search.py();
    match search.call_method1(intern!(py, "send"), (seen,)) {
        Ok(look) => Ok(look.extract().map_or_else(
            |_| WakeChoice::Fail(format!("wants to look at {}, which is no CPU", repr(&look))),
            |cpu| WakeChoice::Look(CpuId(cpu)),
        )),
        Err(error) if error.is_instance_of::<PyStopIteration>(py) => {
            Ok(answered(&error.value(py).getattr(intern!(py, "value"))?))
        }
        Err(error) => Err(error),
    }
}

/// What an answer means.
fn answered(answer: &Bound<'_, PyAny>) -> WakeChoice {
    if answer.is_none() {
        return WakeChoice::Kernel;
    }
    answer.extract().map_or_else(
        |_| WakeChoice::Fail(format!("has answered {}, which is no CPU", repr(answer))),
        |cpu| WakeChoice::Cpu(CpuId(cpu)),
    )
}

fn repr(value: &Bound<'_, PyAny>) -> String {
    value.repr().map_or_else(|_| "something without a repr()".to_owned(), |text| text.to_string())
}
