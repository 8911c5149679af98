# Points find_package(Torch) at the PyTorch that python3 imports, unless the user has pointed it elsewhere.
function(assay_prefer_python_torch)
  if(CMAKE_PREFIX_PATH OR Torch_DIR OR DEFINED ENV{CMAKE_PREFIX_PATH})
    return()
  endif()
  execute_process(COMMAND python3 -c "import torch; print(torch.utils.cmake_prefix_path)"
    OUTPUT_VARIABLE prefix ERROR_VARIABLE problem RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE TIMEOUT 120)
  if(failed)
    message(STATUS "python3 imports no torch; looking for LibTorch in the usual places")
    return()
  endif()
  message(STATUS "PyTorch of python3: ${prefix}")
  set(CMAKE_PREFIX_PATH ${prefix} PARENT_SCOPE)
endfunction()
